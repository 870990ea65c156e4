package serve

import (
	"net/url"
	"strings"
	"testing"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// hostileRun is a run whose every text is written to do harm, and its name.
func hostileRun(t testing.TB, dir string) string {
	const evil = `<script>hacked = 1</script>`
	name := `"><img src=x onerror=hacked=1><script>hacked=2<`
	put(t, dir, name+"/run.json", strings.ReplaceAll(`{"name":"EVIL","device":"EVIL","device_name":"EVIL","cpu":"EVIL","spec_hash":"EVIL","seed":1,"budget":{"steps":10}}`, "EVIL", evil))
	put(t, dir, name+"/spec.arith", "arith 1 // "+evil+"\ntask "+evil+" {\n  a = "+evil+"\n}\n")
	put(t, dir, name+"/metrics.jsonl", reported(1, 2)+reported(2, 1))
	put(t, dir, name+"/eval/result.json", `{"metric":"`+evil+`","by_cell":[[1,1,5,5],[1,2,5,4],[2,2,5,0]],"id":1}`)
	return name
}
