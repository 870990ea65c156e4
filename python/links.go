package main

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
)

// glibc is the version of the GNU C library that wheels for Linux need at most.
const glibc = "2.17"

// tagOf returns the platform tag of a wheel with a binary. It returns an error if the binary links a
// library that a system of this tag may lack.
func tagOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	in := bytes.NewReader(data)
	if f, err := elf.NewFile(in); err == nil {
		return elfTag(f)
	}
	if f, err := macho.NewFile(in); err == nil {
		return machoTag(f)
	}
	if f, err := pe.NewFile(in); err == nil {
		return peTag(f)
	}
	return "", fmt.Errorf("%s is no program for Linux, macOS or Windows", path)
}

// elfTag wants the libraries and symbols that manylinux promises. purego, which opens the driver of
// a GPU, links the C library without cgo.
func elfTag(f *elf.File) (string, error) {
	arch := map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}[f.Machine]
	if arch == "" {
		return "", fmt.Errorf("no tag is known for %v", f.Machine)
	}
	libraries, err := f.ImportedLibraries()
	if err := links(libraries, err, "libc.so.6", "libdl.so.2", "libpthread.so.0"); err != nil {
		return "", err
	}
	var needs []elf.DynamicVersionNeed
	if f.SectionByType(elf.SHT_GNU_VERNEED) != nil {
		if needs, err = f.DynamicVersionNeeds(); err != nil {
			return "", err
		}
	}
	for _, n := range needs {
		for _, v := range n.Needs {
			if number, ok := strings.CutPrefix(v.Dep, "GLIBC_"); !ok || later(number, glibc) {
				return "", fmt.Errorf("it needs %s of %s, and the wheel is for glibc %s", v.Dep, n.Name, glibc)
			}
		}
	}
	return "manylinux_" + strings.ReplaceAll(glibc, ".", "_") + "_" + arch, nil
}

// later reports whether a version such as 2.34 is later than another.
func later(a, b string) bool {
	return slices.Compare(numbers(a), numbers(b)) > 0
}

func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n := 0
		fmt.Sscan(part, &n)
		all = append(all, n)
	}
	return all
}

// machoTag reads the oldest macOS that the binary is for.
func machoTag(f *macho.File) (string, error) {
	arch := map[macho.Cpu]string{macho.CpuAmd64: "x86_64", macho.CpuArm64: "arm64"}[f.Cpu]
	libraries, err := f.ImportedLibraries()
	libraries = slices.DeleteFunc(libraries, func(l string) bool {
		return strings.HasPrefix(l, "/usr/lib/") || strings.HasPrefix(l, "/System/Library/Frameworks/")
	})
	if err := links(libraries, err); err != nil {
		return "", err
	}
	const buildVersion = 0x32 // LC_BUILD_VERSION: its number, size, platform and oldest system
	for _, l := range f.Loads {
		raw := l.Raw()
		if arch != "" && len(raw) >= 16 && binary.LittleEndian.Uint32(raw) == buildVersion {
			oldest := binary.LittleEndian.Uint32(raw[12:])
			return fmt.Sprintf("macosx_%d_%d_%s", oldest>>16, oldest>>8&0xff, arch), nil
		}
	}
	return "", fmt.Errorf("no tag is known for %v", f.Cpu)
}

func peTag(f *pe.File) (string, error) {
	if f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 {
		return "", fmt.Errorf("no tag is known for machine %#x", f.Machine)
	}
	symbols, err := f.ImportedSymbols() // as FUNCTION:LIBRARY
	var libraries []string
	for _, s := range symbols {
		_, library, _ := strings.Cut(s, ":")
		libraries = append(libraries, strings.ToLower(library))
	}
	return "win_amd64", links(libraries, err, "kernel32.dll")
}

// links returns an error if a library is not among the allowed ones.
func links(libraries []string, err error, allowed ...string) error {
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if !slices.Contains(allowed, l) {
			return fmt.Errorf("it links %s, which systems of its tag may lack", l)
		}
	}
	return nil
}
