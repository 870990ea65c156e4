package config

// Sampling says how a model of text continues a prompt. Its fields are flags.
type Sampling struct {
	Tokens      int     `help:"Of a model of text: characters to add to each prompt, 200 by default." positive:"200" placeholder:"N"`
	Temperature float64 `help:"Of a model of text: 1 draws characters as likely as the model finds them, 0 takes the most likely one." default:"1" placeholder:"T"`
	TopK        int     `help:"Of a model of text: draw from so many of the most likely characters." positive:"10" placeholder:"K"`
	DrawSeed    uint64  `help:"Of a model of text: seed of the draws." name:"seed" placeholder:"S"`
}
