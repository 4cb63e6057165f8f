package gpu

import (
	"errors"
	"fmt"
	"sync"
)

// Cards are the GPUs of one program.
type Cards []*Card

// OpenAll opens the first n devices, or every one when n is 0. The error is an
// *UnavailableError where there are not as many.
func OpenAll(d Driver, n int) (Cards, error) {
	count, err := count(d)
	if err != nil {
		return nil, fmt.Errorf("count the GPUs: %w", err)
	}
	if count == 0 {
		return nil, noGPU(d.Binding())
	}
	if n > count {
		return nil, tooFew(d.Binding(), n, count)
	}
	if n < 1 {
		n = count
	}
	all := make(Cards, n)
	err = together(n, func(i int) (err error) {
		all[i], err = Open(d, i)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return all, nil
}

// Each runs f for all cards at the same time, on the goroutine of each as Do does, and
// joins their errors, which name the card.
func (all Cards) Each(f func(i int, c *Card) error) error {
	return together(len(all), func(i int) error {
		c := all[i]
		if err := c.Do(func() error { return f(i, c) }); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		return nil
	})
}

// Close closes all cards. A card that is nil was not opened.
func (all Cards) Close() error {
	return together(len(all), func(i int) error {
		if all[i] == nil {
			return nil
		}
		return all[i].Close()
	})
}

// together runs f for 0 to n-1 at the same time and joins the errors in that order.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			errs[i] = errors.New("a GPU's goroutine exited before its work was done") // unless f returns
			errs[i] = f(i)
		}()
	}
	wait.Wait()
	return errors.Join(errs...)
}
