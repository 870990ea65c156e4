package list

import "math"

// Spread returns the mean of x and its sample standard deviation, with n−1 in the
// denominator. The deviation of one number is 0.
func Spread(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		deviation += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(deviation / float64(len(x)-1))
}
