package train

import (
	"fmt"
	"math"

	"github.com/arithlang/mlc/runtime/track"
)

const (
	fewSteps = 100  // steps too few to learn anything
	guessed  = 2048 // problems that the frequencies of tokens come from
	latest   = 8    // most reports whose losses are averaged
)

// Unlearned returns a sentence if the model has learned nothing: its last losses are not below
// the loss of a guess. It returns "" otherwise, and after fewer than fewSteps steps.
func (t *Trainer) Unlearned() (string, error) {
	if t.State.Step < fewSteps || t.Task == nil {
		return "", nil
	}
	reports, err := track.Until(t.Dir, t.State.Step)
	if err != nil || len(reports) == 0 {
		return "", err
	}
	loss, n := 0.0, min(latest, (len(reports)+3)/4)
	for _, r := range reports[len(reports)-n:] {
		loss += r.Loss / float64(n)
	}
	guess, err := t.guess()
	if err != nil || loss < guess {
		return "", err
	}
	return fmt.Sprintf("the model has learned nothing: its loss is %.3f, and %.3f is that of a guess by how frequent each token is at its place; "+
		"look at the warnings of mlc vet, the learning rate (train.optimizer.lr) and the number of steps (train.budget)", loss, guess), nil
}

// guess is the loss of a model that knows only where answers end and the frequencies of tokens
// at each place of an answer, counted from the end. It is their entropy, in nats a label, over
// the last problems of training.
func (t *Trainer) guess() (float64, error) {
	n := int(min(t.State.Examples, int64(max(guessed, t.Config.Batch))))
	batch, err := t.Drawer().Train(t.State.Examples-int64(n), n)
	if err != nil {
		return 0, err
	}
	var places []map[int32]int
	for i := range batch.B {
		place := 0
		labels := batch.Slice(i, i+1).Labels
		for k := len(labels) - 1; k >= 0; k-- {
			if labels[k] < 0 {
				continue
			}
			if place == len(places) {
				places = append(places, make(map[int32]int))
			}
			places[place][labels[k]]++
			place++
		}
	}
	sum, all := 0.0, 0
	for _, counts := range places {
		total := 0
		for _, n := range counts {
			total += n
		}
		for _, n := range counts {
			sum -= float64(float64(n) * math.Log(float64(n)/float64(total)))
		}
		all += total
	}
	if all == 0 {
		return 0, nil
	}
	return sum / float64(all), nil
}
