package dsl

// attentionRows are the attributes of attention alone. Mask and bias are a site's, and a caller may
// give the bias.
func attentionRows() []Row {
	site := siteRows("attention")
	site[1].Words += " given"
	site[1].Doc += "; given: a tensor [H, T, S] or [B, H, T, S] that the caller gives at each call, with its gradient"
	return append([]Row{
		{Path: "attention.heads", Type: Int, Default: "8", Min: 1, Max: 1 << 10, Doc: "heads of queries"},
		{Path: "attention.key_heads", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 10,
			Doc: "heads of keys and values, each for heads / key_heads consecutive heads of queries (Ainslie et al. 2023; 1: Shazeer 2019); must divide heads; auto: heads"},
		{Path: "attention.width", Type: Int, Default: "64", Min: 1, Max: 256, Doc: "units of a head"},
		{Path: "attention.scale", Type: Real, Default: "auto", Words: "auto", Min: 0, Max: 1e9, Usual: Span{1e-4, 1e3}, Doc: "factor on the scores; auto: 1 / sqrt(width)"},
	}, site[0], site[1])
}
