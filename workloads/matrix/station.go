package matrix

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/gemm"
	"github.com/batchctl/batchctl/workloads/measure"
)

// cardKernels are those of --kernel with --device cuda.
var cardKernels = []string{cublas, builtin}

const (
	cublas  = "cublas"
	builtin = "builtin"
)

// station is one card with what is made on it once. All calls are within the card's Do.
type station struct {
	card    *gpu.Card
	kernels *gemm.Kernels
	// compute is the queue of the products.
	compute *gpu.Queue
	// blas computes on the queue; nil leaves it to the kernels.
	blas gpu.Multiplier
}

func newStation(c *gpu.Card, blas gpu.BLAS) (*station, error) {
	s := &station{card: c}
	if err := s.open(blas); err != nil {
		s.close() // the first error says why
		return nil, err
	}
	return s, nil
}

func (s *station) open(blas gpu.BLAS) (err error) {
	if s.kernels, err = gemm.Load(s.card); err != nil {
		return measure.Unusable(err)
	}
	if s.compute, err = s.card.NewQueue(); err != nil || blas == nil {
		return err
	}
	if s.blas, err = blas.NewMultiplier(s.compute.Stream); err != nil {
		return fmt.Errorf("start cuBLAS (--kernel %s does without): %w", builtin, err)
	}
	return nil
}

func (s *station) multiply(p gpu.Precision, c, a, b gpu.Pointer, m, n, k int) error {
	if s.blas != nil {
		return s.blas.Multiply(p, c, a, b, m, n, k)
	}
	return s.kernels.Multiply(s.compute, p, c, a, b, m, n, k)
}

func (s *station) close() error {
	var errs []error
	if s.blas != nil {
		errs = append(errs, s.blas.Close())
	}
	if s.compute != nil {
		errs = append(errs, s.compute.Close())
	}
	if s.kernels != nil {
		errs = append(errs, s.kernels.Close())
	}
	return errors.Join(errs...)
}

// stations are the cards of one program, and what its rows say of them.
type stations struct {
	cards  gpu.Cards
	all    []*station
	device measure.Device
	// library is cuBLAS with its version, or empty.
	library string
	// setup is how long the kernels took to compile and cuBLAS to start. It is in the
	// first call of the first row: that is where a library that loads what it needs when
	// it needs it has them.
	setup float64
}

// openStations opens the cards, loads the kernels, and starts cuBLAS where the kernel is
// not the built-in one. Without a choice of kernel, cuBLAS that cannot be had is reported once.
func openStations(p gpu.Platform, o measure.Options, stderr io.Writer) (*stations, error) {
	cards, device, err := measure.OpenCards(p, o)
	if err != nil {
		return nil, err
	}
	s := &stations{cards: cards, all: make([]*station, len(cards)), device: device}
	if err := s.open(p, o.Kernel, stderr); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stations) open(p gpu.Platform, kernel string, stderr io.Writer) error {
	start := time.Now()
	blas, err := openBLAS(p, kernel, stderr)
	if err != nil {
		return err
	}
	if blas != nil {
		s.library = blas.Version()
	}
	err = s.cards.Each(func(i int, c *gpu.Card) (err error) {
		s.all[i], err = newStation(c, blas)
		return err
	})
	s.setup = time.Since(start).Seconds()
	return err
}

func openBLAS(p gpu.Platform, kernel string, stderr io.Writer) (gpu.BLAS, error) {
	if kernel == builtin {
		return nil, nil
	}
	err := errors.New("this program has no way to cuBLAS")
	if p.BLAS != nil {
		var blas gpu.BLAS
		if blas, err = p.BLAS(); err == nil {
			return blas, nil
		}
	}
	if kernel == cublas {
		return nil, &measure.NoDeviceError{Kind: measure.CUDA, Reason: fmt.Sprintf("--kernel %s: %s; run with --kernel %s", cublas, err, builtin)}
	}
	_, err = fmt.Fprintf(stderr, "batchctl-workloads: matrix: the built-in kernels compute: %s\n", err)
	return nil, err
}

// first are the first n cards.
func (s *stations) first(n int) *stations {
	return &stations{cards: s.cards[:n], all: s.all[:n], device: s.device, library: s.library}
}

// takeSetup is the time of setup for the first that asks.
func (s *stations) takeSetup() float64 {
	taken := s.setup
	s.setup = 0
	return taken
}

// each runs f on all cards at once.
func (s *stations) each(f func(i int, s *station) error) error {
	return s.cards.Each(func(i int, _ *gpu.Card) error { return f(i, s.all[i]) })
}

// supports is an error where a card cannot compute at that precision. cuBLAS is held to
// the same: on a card without such tensor cores it would compute at another one.
func (s *stations) supports(p gpu.Precision) error {
	refusals := make([]error, len(s.all))
	err := s.each(func(i int, s *station) error {
		refusals[i] = s.kernels.Supports(p)
		return nil
	})
	for _, refused := range refusals {
		if refused != nil && err == nil {
			err = &measure.NoDeviceError{Kind: measure.CUDA, Reason: refused.Error()}
		}
	}
	return err
}

// kernel is what computes at that precision.
func (s *stations) kernel(p gpu.Precision) string {
	if s.library != "" {
		return s.library
	}
	return s.all[0].kernels.Name(p)
}

// title is what computes, for the first line.
func (s *stations) title() string {
	if s.library != "" {
		return s.library
	}
	return builtin
}

// budgets is what the cards' memory has free now.
func (s *stations) budgets() ([]budget, error) {
	all := make([]budget, len(s.all))
	err := s.each(func(i int, s *station) error {
		free, _, err := s.card.Driver().MemoryInfo()
		all[i] = budget{s.card.Info, usable(free)}
		return err
	})
	return all, err
}

func (s *stations) close() error {
	err := s.cards.Each(func(i int, _ *gpu.Card) error {
		if s.all[i] == nil {
			return nil
		}
		return s.all[i].close()
	})
	return errors.Join(err, s.cards.Close())
}
