"""KERPLE's logarithmic bias below a causal mask, by hand."""

import torch


def forward(query, key, value, parameters):
    B, T, H, D = query.shape
    S, HK = key.shape[1], key.shape[2]
    key = key.repeat_interleave(H // HK, dim=2)
    value = value.repeat_interleave(H // HK, dim=2)
    i = torch.arange(T, device=query.device)[:, None]
    j = torch.arange(S, device=query.device)[None, :]
    r1, r2 = parameters["kerple.r1"][:, None, None], parameters["kerple.r2"][:, None, None]
    bias = -r1 * torch.log(1 + r2 * (i - j).abs())
    scores = torch.einsum("bthd,bshd->bhts", query, key) * D**-0.5 + bias
    visible = j <= i
    scores = scores.masked_fill(~visible, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("bhts,bshd->bthd", weights, value)
