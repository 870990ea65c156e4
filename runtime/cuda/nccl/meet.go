package nccl

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Ports for Slurm's jobs: firstPort and the next ones. Two jobs rarely have the same.
const (
	firstPort = 61440
	numPorts  = 4096
)

// Meeting returns the HOST:PORT where rank 0 listens, from a launcher's environment. That is
// NCCL_COMM_ID, or the port above torchrun's. For a Slurm job it is a port of the first machine,
// computed from the job's number.
func Meeting(env func(string) string) (string, error) {
	if at := env("NCCL_COMM_ID"); at != "" {
		return at, nil
	}
	if host, text := env("MASTER_ADDR"), env("MASTER_PORT"); host != "" && text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port+1 >= 1<<16 {
			return "", fmt.Errorf("MASTER_PORT is %q: want a port below 65535, above which NCCL listens", text)
		}
		return net.JoinHostPort(host, strconv.Itoa(int(port+1))), nil
	}
	nodes := env("SLURM_STEP_NODELIST")
	if nodes == "" {
		nodes = env("SLURM_JOB_NODELIST")
	}
	if id := env("SLURM_JOB_ID"); id != "" && nodes != "" {
		job, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return "", fmt.Errorf("SLURM_JOB_ID is %q: want a number", id)
		}
		return net.JoinHostPort(firstHost(nodes), strconv.Itoa(int(job%numPorts+firstPort))), nil
	}
	return "", errors.New("NCCL has to know where the ranks are to meet: start them with mpirun, srun or torchrun, " +
		"or set NCCL_COMM_ID=HOST:PORT for all of them, to the machine of rank 0 and a port that is free there")
}

// firstHost returns the first name of a Slurm list: node[001-004,7],other.
func firstHost(nodes string) string {
	var name strings.Builder
	for nodes != "" && nodes[0] != ',' {
		if nodes[0] != '[' {
			name.WriteByte(nodes[0])
			nodes = nodes[1:]
			continue
		}
		numbers, rest, _ := strings.Cut(nodes[1:], "]")
		if end := strings.IndexAny(numbers, "-,"); end >= 0 {
			numbers = numbers[:end]
		}
		name.WriteString(numbers)
		nodes = rest
	}
	return name.String()
}
