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

// Machine describes the device.
type Machine struct {
	Card        string            `json:"card"`
	Capability  string            `json:"capability"`             // 8.0
	Driver      string            `json:"driver"`                 // CUDA version that the driver implements
	SMs         int               `json:"sms"`                    // number of streaming multiprocessors
	Memory      int64             `json:"memory"`                 // bytes
	Free        int64             `json:"free"`                   // bytes free at the start
	Shared      int               `json:"shared"`                 // bytes of shared memory that any block may use
	SharedOptIn int               `json:"shared_opt_in"`          // bytes that a block may request
	Clock       int               `json:"clock,omitempty"`        // kHz, maximum of the multiprocessors
	MemoryClock int               `json:"memory_clock,omitempty"` // kHz, maximum
	BusWidth    int               `json:"bus_width,omitempty"`    // bits
	L2          int               `json:"l2,omitempty"`           // bytes
	SMShared    int               `json:"sm_shared,omitempty"`    // bytes of shared memory of a multiprocessor
	SMRegisters int               `json:"sm_registers,omitempty"` // 32-bit registers of a multiprocessor
	SMThreads   int               `json:"sm_threads,omitempty"`   // resident threads of a multiprocessor, at most
	SMBlocks    int               `json:"sm_blocks,omitempty"`    // resident blocks of a multiprocessor, at most
	Open        float64           `json:"open"`                   // seconds to open the device
	SMI         map[string]string `json:"smi,omitempty"`          // fields of nvidia-smi
	NoSMI       string            `json:"no_smi,omitempty"`       // why nvidia-smi gave none
}

// Module describes the module of one spec on the device.
type Module struct {
	Kernels   int     `json:"kernels"`
	Bytes     int     `json:"bytes"`             // of PTX
	Compile   float64 `json:"compile"`           // seconds from the spec to PTX
	Load      float64 `json:"load"`              // seconds from PTX to a module on the device
	Registers int     `json:"registers"`         // registers of a thread, at most
	Spilled   int     `json:"spilled"`           // bytes of local memory of a thread, summed over kernels
	Spills    string  `json:"spills,omitempty"`  // the kernel with the most local memory
	Stage     string  `json:"stage,omitempty"`   // the stage that was loaded, if the spec has stages
	Missing   int     `json:"missing,omitempty"` // kernels that the module lacks
}

// thisDevice is the part that describes the device.
const thisDevice = "device"

func machineParts(e *Env) ([]string, string) {
	load := models
	if e.models != nil {
		load = e.models
	}
	return append([]string{thisDevice}, names(load)...), ""
}

// machineNeeds returns the time to load a module on a GPU. The driver compiles it; products on
// tensor cores take longest.
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

// describe queries the driver and nvidia-smi.
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

// load loads the module of a spec and reads the resources of its kernels.
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

// smiFields are the fields to query with nvidia-smi.
var smiFields = []string{
	"name", "driver_version", "vbios_version", "pstate", "clocks.current.sm", "clocks.current.memory", "clocks.max.sm",
	"clocks.max.memory", "power.draw", "power.limit", "temperature.gpu", "persistence_mode", "ecc.mode.current", "mig.mode.current",
	"compute_mode", "utilization.gpu",
}

// smi asks nvidia-smi for the state of the first card, or returns why it cannot.
func smi(ctx context.Context) (map[string]string, string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, "nvidia-smi is not installed"
	}
	cmd := exec.CommandContext(ctx, path, "--query-gpu="+strings.Join(smiFields, ","), "--format=csv,noheader")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Sprintf("nvidia-smi: %v: %s", err, firstLine(string(out)))
	}
	return smiRow(out)
}

// smiRow parses the first line of nvidia-smi's output.
func smiRow(out []byte) (map[string]string, string) {
	r := csv.NewReader(bytes.NewReader(out))
	r.TrimLeadingSpace = true
	row, err := r.Read()
	if err != nil || len(row) != len(smiFields) {
		return nil, "nvidia-smi printed no line of fields: " + firstLine(string(out))
	}
	says := map[string]string{}
	for i, name := range smiFields {
		says[name] = strings.TrimSpace(row[i])
	}
	return says, ""
}
