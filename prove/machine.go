package prove

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Machine is what the device is.
type Machine struct {
	Card        string            `json:"card"`
	Capability  string            `json:"capability"`             // 8.0
	Driver      string            `json:"driver"`                 // the CUDA version that the driver implements
	SMs         int               `json:"sms"`                    // streaming multiprocessors
	Memory      int64             `json:"memory"`                 // bytes
	Free        int64             `json:"free"`                   // bytes of it, at the start
	Shared      int               `json:"shared"`                 // bytes of shared memory that any block may take
	SharedOptIn int               `json:"shared_opt_in"`          // bytes that a block may ask for
	Clock       int               `json:"clock,omitempty"`        // kHz at most, of the multiprocessors
	MemoryClock int               `json:"memory_clock,omitempty"` // kHz at most
	BusWidth    int               `json:"bus_width,omitempty"`    // bits
	L2          int               `json:"l2,omitempty"`           // bytes
	SMShared    int               `json:"sm_shared,omitempty"`    // bytes of shared memory of a multiprocessor
	SMRegisters int               `json:"sm_registers,omitempty"` // of 32 bits, of a multiprocessor
	SMThreads   int               `json:"sm_threads,omitempty"`   // that a multiprocessor holds at once
	SMBlocks    int               `json:"sm_blocks,omitempty"`    // that a multiprocessor holds at once
	Open        float64           `json:"open"`                   // seconds that opening the device took
	SMI         map[string]string `json:"smi,omitempty"`          // what nvidia-smi says
	NoSMI       string            `json:"no_smi,omitempty"`       // why there is none of that
}

// Module is the module of one spec on the device.
type Module struct {
	Kernels   int     `json:"kernels"`
	Bytes     int     `json:"bytes"`             // of PTX
	Compile   float64 `json:"compile"`           // seconds from the spec to PTX
	Load      float64 `json:"load"`              // seconds from PTX to a module on the device
	Registers int     `json:"registers"`         // of a thread, at the most
	Spilled   int     `json:"spilled"`           // bytes of local memory of a thread, all kernels together
	Spills    string  `json:"spills,omitempty"`  // the kernel with the most of it
	Stage     string  `json:"stage,omitempty"`   // of a spec that has stages, the one that was loaded
	Missing   int     `json:"missing,omitempty"` // kernels that the module does not have
}

// thisDevice is the part that asks what the device is.
const thisDevice = "device"

func machineParts(e *Env) ([]string, string) {
	load := models
	if e.models != nil {
		load = e.models
	}
	return append([]string{thisDevice}, names(load)...), ""
}

// machineNeeds are what loading a module takes on a GPU: the driver compiles it, products
// on tensor cores longest.
func machineNeeds(part string) time.Duration {
	switch {
	case part == thisDevice:
		return 3 * time.Second
	case strings.Contains(part, narrow[0]):
		return 8 * time.Second
	}
	return 4 * time.Second
}

func runMachine(ctx context.Context, e *Env, p *Part) error {
	if p.Name == thisDevice {
		return e.describe(ctx, p)
	}
	err := e.load(p)
	p.whole = err == nil
	return err
}

// describe asks the driver and nvidia-smi.
func (e *Env) describe(ctx context.Context, p *Part) error {
	start := time.Now()
	d, err := e.Open()
	if err != nil {
		return err
	}
	opened := time.Since(start)
	free, _, err := d.MemInfo()
	i := d.Info()
	p.Machine = &Machine{
		Card: i.Name, Capability: fmt.Sprintf("%d.%d", i.Major, i.Minor), Driver: fmt.Sprintf("%d.%d", i.Version/1000, i.Version%1000/10),
		SMs: i.SMs, Memory: i.Memory, Free: free, Shared: i.Shared, SharedOptIn: i.SharedOptIn,
		Clock: i.Clock, MemoryClock: i.MemoryClock, BusWidth: i.BusWidth, L2: i.L2,
		SMShared: i.SMShared, SMRegisters: i.SMRegisters, SMThreads: i.SMThreads, SMBlocks: i.SMBlocks,
		Open: opened.Seconds(),
	}
	if e.Device == "cuda" {
		p.Machine.SMI, p.Machine.NoSMI = smi(ctx)
	}
	return errors.Join(err, d.Close())
}

// load brings the module of a spec to the device and asks what its kernels need.
func (e *Env) load(p *Part) error {
	m, err := find(e.chosen(), p.Name)
	if err != nil {
		return err
	}
	start := time.Now()
	program, err := m.compile()
	if err != nil {
		return err
	}
	t := program.Trainings()[0]
	code, err := e.module(t.Lowered, t.Lowered.Kernels)
	if err != nil {
		return err
	}
	out := &Module{Kernels: len(code.Kernels), Bytes: len(code.Text), Compile: time.Since(start).Seconds(), Stage: t.Stage}
	d, err := e.Open()
	if err != nil {
		return err
	}
	start = time.Now()
	mod, err := d.Load(string(code.Text))
	if err != nil {
		return errors.Join(err, d.Close())
	}
	out.Load = time.Since(start).Seconds()
	p.Module = out
	most := 0
	for _, k := range code.Kernels {
		a, err := attributes(mod, k.Name)
		if err != nil {
			out.Missing++
			p.wrong("%s: %v", k.Name, err)
			continue
		}
		out.Registers = max(out.Registers, a.Registers)
		out.Spilled += a.Local
		if a.Local > most {
			most, out.Spills = a.Local, k.Name
		}
	}
	return d.Close()
}

func attributes(m cuda.Module, name string) (cuda.Attributes, error) {
	f, err := m.Function(name)
	if err != nil {
		return cuda.Attributes{}, err
	}
	return f.Attributes()
}

// smiFields are what nvidia-smi is asked for.
var smiFields = []string{
	"name", "driver_version", "vbios_version", "pstate", "clocks.current.sm", "clocks.current.memory", "clocks.max.sm",
	"clocks.max.memory", "power.draw", "power.limit", "temperature.gpu", "persistence_mode", "ecc.mode.current", "mig.mode.current",
	"compute_mode", "utilization.gpu",
}

// smi asks nvidia-smi for the state of the first card, or says why it cannot.
func smi(ctx context.Context) (map[string]string, string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, "nvidia-smi is not there"
	}
	cmd := exec.CommandContext(ctx, path, "--query-gpu="+strings.Join(smiFields, ","), "--format=csv,noheader")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Sprintf("nvidia-smi: %v: %s", err, firstLine(string(out)))
	}
	return smiRow(out)
}

// smiRow reads the first line of what nvidia-smi prints.
func smiRow(out []byte) (map[string]string, string) {
	r := csv.NewReader(bytes.NewReader(out))
	r.TrimLeadingSpace = true
	row, err := r.Read()
	if err != nil || len(row) != len(smiFields) {
		return nil, "nvidia-smi gives no line of fields: " + firstLine(string(out))
	}
	says := map[string]string{}
	for i, name := range smiFields {
		says[name] = strings.TrimSpace(row[i])
	}
	return says, ""
}
