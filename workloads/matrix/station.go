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

// cardKernels are the values of --kernel with --device cuda.
var cardKernels = []string{cublas, builtin}

const (
	cublas  = "cublas"
	builtin = "builtin"
)

// station is one card with its kernels and queue, which all rows share. All calls are within the
// card's Do.
type station struct {
	card    *gpu.Card
	kernels *gemm.Kernels
	// compute is the queue of the products.
	compute *gpu.Queue
	// blas computes on the queue; nil means that kernels compute.
	blas gpu.Multiplier
}

func newStation(c *gpu.Card, blas gpu.BLAS) (*station, error) {
	s := &station{card: c}
	if err := s.open(blas); err != nil {
		s.close() // the first error is the cause
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
		return fmt.Errorf("start cuBLAS (--kernel %s does not need it): %w", builtin, err)
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

// stations are the cards of one run, and their description in the rows.
type stations struct {
	cards  gpu.Cards
	all    []*station
	device measure.Device
	// library is cuBLAS with its version, or empty.
	library string
	// setup is how long it took to compile the kernels and start cuBLAS, in seconds. It is part of
	// the first call of the first row, like the lazy loading of other libraries.
	setup float64
}

// openStations opens the cards, loads the kernels, and starts cuBLAS unless the kernel is the
// built-in one. If no kernel was chosen and cuBLAS is unavailable, it prints one line to stderr and
// continues.
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

// openBLAS returns cuBLAS, or nil if the built-in kernels are to compute. It is an error if cuBLAS
// was chosen and is unavailable.
func openBLAS(p gpu.Platform, kernel string, stderr io.Writer) (gpu.BLAS, error) {
	if kernel == builtin {
		return nil, nil
	}
	err := errors.New("this program is built without cuBLAS")
	if p.BLAS != nil {
		var blas gpu.BLAS
		if blas, err = p.BLAS(); err == nil {
			return blas, nil
		}
	}
	if kernel == cublas {
		return nil, &measure.NoDeviceError{Kind: measure.CUDA,
			Reason: fmt.Sprintf("--kernel %s: %s; run with --kernel %s", cublas, err, builtin)}
	}
	_, err = fmt.Fprintf(stderr, "batchctl-workloads: matrix: using the built-in kernels: %s\n", err)
	return nil, err
}

// first returns the first n cards, without the setup time.
func (s *stations) first(n int) *stations {
	return &stations{cards: s.cards[:n], all: s.all[:n], device: s.device, library: s.library}
}

// takeSetup returns the setup time the first time, and 0 afterwards.
func (s *stations) takeSetup() float64 {
	taken := s.setup
	s.setup = 0
	return taken
}

// each runs f on all cards at once.
func (s *stations) each(f func(i int, s *station) error) error {
	return s.cards.Each(func(i int, _ *gpu.Card) error { return f(i, s.all[i]) })
}

// supports is an error if a card cannot compute at that precision. It applies to cuBLAS too, which
// would compute at another precision on a card without such tensor cores.
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

// kernel is the name of the kernel for that precision.
func (s *stations) kernel(p gpu.Precision) string {
	if s.library != "" {
		return s.library
	}
	return s.all[0].kernels.Name(p)
}

// title is the kernel's name in the first line.
func (s *stations) title() string {
	if s.library != "" {
		return s.library
	}
	return builtin
}

// budgets returns the memory that plans may take of each card now.
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
