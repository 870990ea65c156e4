"use strict"
// The script orders and filters the list, asks for parts of pages, puts in changed parts, and
// shows texts near the pointer or the focus. Everything else works without it.

const $ = (selector, within = document) => within.querySelector(selector)
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)]

// The list of runs.

function sortBy(th, down) {
  const key = $("button", th).value
  for (const other of $$("th[aria-sort]")) other.removeAttribute("aria-sort")
  th.setAttribute("aria-sort", down ? "descending" : "ascending")
  const value = row => $(`[data-key="${CSS.escape(key)}"]`, row)?.dataset.sort ?? ""
  const body = $("#runs tbody")
  const rows = [...body.rows].map(row => [row, value(row), Number(value(row))])
  rows.sort(([, a, m], [, b, n]) => {
    if (a === "" || b === "") return (a === "") - (b === "")
    const c = isNaN(m) || isNaN(n) ? (a > b) - (a < b) : m - n
    return down ? -c : c
  })
  if (rows.every(([row], i) => row === body.rows[i])) return
  const focus = document.activeElement // a moved element loses it
  body.append(...rows.map(([row]) => row))
  if (body.contains(focus)) focus.focus({ preventScroll: true })
}

function filter() {
  const words = $("#filter").value.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = [...$("#runs tbody").rows]
  let shown = 0
  for (const row of rows) {
    const text = row.textContent.toLowerCase()
    row.hidden = !words.every(w => text.includes(w))
    if (!row.hidden) shown++
  }
  $("#matches").textContent = words.length ? `${shown} of ${rows.length} runs` : ""
}

function countChosen() {
  const n = $$("#runs tbody input:checked").length
  const button = $("#compare")
  button.disabled = n < 2
  button.textContent = n < 2 ? "Choose runs to compare" : `Compare ${n} runs`
}

if ($("#runs")) {
  $("#runs thead").addEventListener("click", event => {
    const th = event.target.closest("th")
    if (!event.target.closest("button")) return
    event.preventDefault()
    sortBy(th, th.getAttribute("aria-sort") === "ascending" || !th.hasAttribute("aria-sort") && th.classList.contains("number"))
  })
  $("#filter").addEventListener("input", filter)
  $("#runs").addEventListener("change", countChosen)
  filter()
  countChosen()
}

// Parts of pages: an answer is lines of JSON, and the last line has the part.

const asked = new Map() // requests under way, by the element that they are for
async function ask(into, address, options) {
  asked.get(into)?.abort()
  const asking = new AbortController()
  asked.set(into, asking)
  const say = text => {
    const p = document.createElement("p")
    p.className = "saying"
    p.textContent = text
    into.replaceChildren(p)
    return p
  }
  const fail = text => { say(text).className = "wrong-text" }
  say("Working …")
  try {
    const answer = await fetch(address, { ...options, headers: { "X-Part": "1" }, signal: asking.signal })
    if (answer.headers.get("Content-Type") !== "application/x-ndjson") return fail(await answer.text())
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ""
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      text += value
      const lines = text.split("\n")
      text = lines.pop()
      for (const line of lines) {
        const news = JSON.parse(line)
        if (news.say) say(news.say)
        if (news.html !== undefined) into.innerHTML = news.html
      }
    }
  } catch (error) {
    if (error.name !== "AbortError") fail("The server did not answer: is mlc serve still running?")
  } finally {
    if (asked.get(into) === asking) asked.delete(into)
  }
}

document.addEventListener("submit", event => {
  const form = event.target
  if (!("parts" in form.dataset)) return
  event.preventDefault()
  const button = event.submitter ?? $("button", form)
  ask(document.getElementById(button.dataset.into), button.getAttribute("formaction") ?? form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) })
})

document.addEventListener("click", event => {
  const link = event.target.closest("a[data-into]")
  if (link) {
    event.preventDefault()
    ask(document.getElementById(link.dataset.into), link.href, {})
  }
  const jump = event.target.closest('a[href^="#kernel-"]')
  if (jump) document.getElementById(jump.hash.slice(1)).open = true
})

for (const element of $$("[data-load]")) ask(element, element.dataset.load, {})

// Changed elements replace the elements with their ids. Choices, open details and the focus
// stay.

function swap({ id, html, only }) {
  if (only) {
    for (const row of $$("#runs tbody tr")) if (!only.includes(row.id)) row.remove()
    return
  }
  const old = document.getElementById(id)
  const holder = document.createElement("template")
  holder.innerHTML = html
  const now = holder.content.firstElementChild
  if (old?.dataset.version === now.dataset.version) return
  if (!old) {
    if (now.matches("tr")) $("#runs tbody")?.append(now)
    return
  }
  const focus = old.contains(document.activeElement) ? $$("a, input, summary, svg[tabindex], pre", old).indexOf(document.activeElement) : -1
  for (const [i, box] of $$("input", old).entries()) {
    const same = $$("input", now)[i]
    if (same) same.checked = box.checked
  }
  for (const [i, d] of $$("details", old).entries()) {
    const same = $$("details", now)[i]
    if (same) same.open = d.open
  }
  old.replaceWith(now)
  if (focus >= 0) $$("a, input, summary, svg[tabindex], pre", now)[focus]?.focus()
}

// A hidden page keeps no connection: a browser has six for all pages of a server.

const live = document.body.dataset.live
let source = null
function listen() {
  source?.close()
  source = null
  if (document.hidden) return
  const link = $("#link")
  const on = yes => {
    link.classList.toggle("on", yes)
    link.textContent = yes ? "live" : "not connected"
  }
  source = new EventSource(live)
  source.addEventListener("open", () => on(true))
  source.addEventListener("error", () => on(false))
  source.addEventListener("gone", event => {
    for (const part of JSON.parse(event.data)) swap(part)
    source.close()
    link.classList.remove("on")
    link.textContent = "gone"
  })
  source.addEventListener("swap", event => {
    for (const part of JSON.parse(event.data)) swap(part)
    if (!$("#runs")) return
    const th = $("th[aria-sort]")
    if (th) sortBy(th, th.getAttribute("aria-sort") === "descending")
    filter()
    countChosen()
  })
}
if (live) {
  listen()
  document.addEventListener("visibilitychange", listen)
  addEventListener("pagehide", () => source?.close())
}

// The texts of a figure, near the pointer or at the place that the arrow keys have reached.

const tip = document.createElement("div")
tip.id = "tip"
tip.setAttribute("role", "status")
tip.hidden = true
document.body.append(tip)

function showTip(svg, x, y, lines) {
  tip.replaceChildren(...lines.map(([text, kind], i) => {
    const line = document.createElement(i ? "span" : "b")
    if (kind) {
      const mark = document.createElement("i")
      mark.className = kind
      line.append(mark)
    }
    line.append(text)
    return line
  }))
  tip.hidden = false
  const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM())
  const { width, height } = tip.getBoundingClientRect()
  const right = document.documentElement.clientWidth
  tip.style.left = Math.max(4, Math.min(at.x + 14, right - width - 4)) + "px"
  tip.style.top = Math.max(4, at.y - height - 12) + "px"
}

function hideTip(svg) {
  tip.hidden = true
  $(".hair", svg)?.remove()
  $(".cursor", svg)?.setAttribute("width", 0)
}

const figures = new WeakMap()
function figure(svg) {
  if (!figures.has(svg)) figures.set(svg, { data: JSON.parse(svg.dataset.hover), row: 0, col: 0 })
  return figures.get(svg)
}

function showCell(svg, f) {
  const d = f.data
  const cursor = $(".cursor", svg)
  const [x, y] = [d.x + f.col * d.s, d.y + f.row * d.s]
  for (const [name, value] of Object.entries({ x, y, width: d.s, height: d.s })) cursor.setAttribute(name, value)
  showTip(svg, x + d.s / 2, y, [[d.p.replace("{r}", () => d.r[f.row]).replace("{c}", () => d.c[f.col])], [d.t[f.row * d.c.length + f.col]]])
}

function showPoint(svg, f, x) {
  let best = Infinity
  for (const s of f.data) for (const p of s.p) if (Math.abs(p[0] - x) < Math.abs(best - x)) best = p[0]
  f.x = best
  let hair = $(".hair", svg)
  if (!hair) {
    hair = document.createElementNS("http://www.w3.org/2000/svg", "path")
    hair.setAttribute("class", "hair")
    svg.append(hair)
  }
  const box = svg.viewBox.baseVal
  hair.setAttribute("d", `M${best} 22V${box.height - 36}`)
  let head = "", top = box.height
  const lines = []
  for (const s of f.data) {
    const p = s.p.find(p => p[0] === best)
    if (!p) continue
    head = p[2]
    top = Math.min(top, p[1])
    lines.push([f.data.length > 1 ? `${s.n}: ${p[3]}` : p[3], s.c])
  }
  showTip(svg, best, top, [[head], ...lines])
}

function point(svg, event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse())
  const f = figure(svg)
  if (Array.isArray(f.data)) return showPoint(svg, f, at.x)
  const d = f.data
  const col = Math.floor((at.x - d.x) / d.s), row = Math.floor((at.y - d.y) / d.s)
  if (row < 0 || col < 0 || row >= d.r.length || col >= d.c.length) return hideTip(svg)
  Object.assign(f, { row, col })
  showCell(svg, f)
}

function move(svg, key) {
  const f = figure(svg)
  const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key]
  if (!Array.isArray(f.data)) {
    f.col = Math.min(Math.max(f.col + right, 0), f.data.c.length - 1)
    f.row = Math.min(Math.max(f.row + down, 0), f.data.r.length - 1)
    return showCell(svg, f)
  }
  const all = [...new Set(f.data.flatMap(s => s.p.map(p => p[0])))].sort((a, b) => a - b)
  const at = all.indexOf(f.x ?? all[0])
  showPoint(svg, f, all[Math.min(Math.max(at + right, 0), all.length - 1)])
}

const within = event => event.target instanceof Element ? event.target.closest("svg[data-hover]") : null
document.addEventListener("pointermove", event => { const svg = within(event); if (svg) point(svg, event) })
document.addEventListener("pointerout", event => { const svg = within(event); if (svg && !svg.contains(event.relatedTarget) && svg !== document.activeElement) hideTip(svg) })
document.addEventListener("focusin", event => {
  const svg = within(event)
  if (!svg || !svg.matches(":focus-visible")) return
  const f = figure(svg)
  Array.isArray(f.data) ? showPoint(svg, f, f.x ?? 0) : showCell(svg, f)
})
document.addEventListener("focusout", event => { const svg = within(event); if (svg) hideTip(svg) })
document.addEventListener("keydown", event => {
  const svg = within(event)
  if (!svg) return
  if (event.key === "Escape") hideTip(svg)
  if (!event.key.startsWith("Arrow")) return
  event.preventDefault()
  move(svg, event.key)
})
