package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// resources returns the resources of a container of a pod; each argument is KIND LIMIT REQUEST, "-" for none.
func resources(all ...string) *types.EksContainerResourceRequirements {
	r := &types.EksContainerResourceRequirements{Limits: map[string]string{}, Requests: map[string]string{}}
	for _, text := range all {
		f := strings.Fields(text)
		if f[1] != "-" {
			r.Limits[f[0]] = f[1]
		}
		if f[2] != "-" {
			r.Requests[f[0]] = f[2]
		}
	}
	return r
}

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		r    *types.EksContainerResourceRequirements
		want Amount
		bad  bool
	}{
		{resources("cpu 2 0.25", "memory 64Mi 64Mi", "nvidia.com/gpu 1 -"), Amount{250, 64, 1}, false},
		{resources("cpu 1.5 -", "memory - 4Mi"), Amount{1500, 4, 0}, false},
		{resources("cpu 1500m -", "memory 1Gi 1Gi"), Amount{1500, 1024, 0}, true},
		{resources("cpu - 1", "memory 1M -"), Amount{1000, 1, 0}, true},
		{resources("cpu 1 1", "memory 64Mi 64Mi", "nvidia.com/gpu 2 1"), Amount{1000, 64, 1}, true},
		{resources("cpu NaN -", "memory 1e99Mi -", "nvidia.com/gpu -1 -"), Amount{}, true},
		{nil, Amount{}, true},
	} {
		if got := quantitiesOf(&types.EksContainerDetail{Resources: c.r}); got != c.want {
			t.Errorf("%+v reserves %+v, want %+v", c.r, got, c.want)
		}
		if err := CheckQuantities(c.r); (err != nil) != c.bad {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
}

// aPod returns a pod of one container that mounts volumes. A mount is VOLUME PATH [SUBPATH].
func aPod(volumes []types.EksVolume, s *types.EksContainerSecurityContext, mounts ...string) *types.EksPodPropertiesDetail {
	c := types.EksContainerDetail{Image: aws.String("busybox:1"), SecurityContext: s, Resources: resources("cpu 1 -", "memory 64Mi -")}
	for _, text := range mounts {
		f := append(strings.Fields(text), "")
		c.VolumeMounts = append(c.VolumeMounts, types.EksContainerVolumeMount{Name: &f[0], MountPath: &f[1], SubPath: &f[2]})
	}
	return &types.EksPodPropertiesDetail{Containers: []types.EksContainerDetail{c}, Volumes: volumes}
}

func TestPodParts(t *testing.T) {
	volumes := []types.EksVolume{{Name: aws.String("host"), HostPath: &types.EksHostPath{Path: aws.String("/srv/")}},
		{Name: aws.String("m"), EmptyDir: &types.EksEmptyDir{Medium: aws.String("Memory"), SizeLimit: aws.String("1Gi")}}}
	p := podParts(aPod(volumes, &types.EksContainerSecurityContext{RunAsUser: aws.Int64(7), RunAsGroup: aws.Int64(8), AllowPrivilegeEscalation: aws.Bool(false)},
		"host /a", "host /b sub/dir", "m /m"))[0]
	c := p.Container
	if p.Name() != "Default" || *c.User != "7:8" || !p.Pod.NoNewPrivileges || len(c.MountPoints) != 2 || *c.MountPoints[1].ContainerPath != "/b" ||
		*c.Volumes[0].Host.SourcePath != "/srv/" || *c.Volumes[1].Host.SourcePath != "/srv/sub/dir" || *c.MountPoints[1].SourceVolume != *c.Volumes[1].Name {
		t.Errorf("%+v", c)
	}
	if want := (EmptyDir{Volume: "m", Path: "/m", InMemory: true, SizeMiB: 1024}); !slices.Equal(p.Pod.EmptyDirs, []EmptyDir{want}) {
		t.Errorf("%+v", p.Pod.EmptyDirs)
	}
	pod := aPod(nil, nil)
	pod.InitContainers = pod.Containers
	if all := podParts(pod); !slices.Equal(all[1].After, []Dependency{{0, OnSuccess}}) {
		t.Errorf("%+v", all)
	}
	// Init containers run before the containers: the larger amount counts.
	pod.InitContainers[0].Resources = resources("cpu 0.5 -", "memory 512Mi -")
	pod.Containers = append(slices.Clone(pod.Containers), aPod(nil, nil).Containers...)
	pod.Containers[0].Resources, pod.Containers[1].Resources = resources("cpu 1 -", "memory 64Mi -"), resources("cpu 1 -", "memory 64Mi -")
	if got, want := podNeed(podParts(pod)), (Amount{2000, 512, 0}); got != want {
		t.Errorf("needs %+v, want %+v", got, want)
	}
}

func TestPodGaps(t *testing.T) {
	named := func(v types.EksVolume) []types.EksVolume {
		v.Name = aws.String("v")
		return []types.EksVolume{v}
	}
	host, empty := named(types.EksVolume{HostPath: &types.EksHostPath{Path: aws.String("/srv")}}), named(types.EksVolume{EmptyDir: &types.EksEmptyDir{}})
	type security = types.EksContainerSecurityContext
	several := aPod(nil, nil)
	several.ShareProcessNamespace = aws.Bool(true)
	several.InitContainers = several.Containers
	for _, c := range []struct {
		pod                  *types.EksPodPropertiesDetail
		contained, asProcess string
	}{
		{aPod(empty, nil, "v /v"), "", "emptyDir volume v of container Default for a process"},
		{aPod(host, nil, "v /v sub"), "", ""},
		{aPod(host, nil, "v /v ../etc"), "subPath ../etc outside of volume v of container Default", ""},
		{aPod(host, nil, "v /v /etc"), "subPath /etc outside of volume v of container Default", ""},
		{aPod(empty, nil, "v /v sub"), "subPath sub in emptyDir volume v of container Default", "emptyDir volume v of container Default for a process"},
		{aPod(nil, nil, "v /v"), "volume v for volumeMounts of container Default: the pod has no such volume", "volume v for volumeMounts of container Default: the pod has no such volume"},
		{aPod(named(types.EksVolume{}), nil, "v /v"), "volume v: it has no source", ""},
		{aPod(named(types.EksVolume{Secret: &types.EksSecret{}}), nil), "the secret of volume v", "the secret of volume v"},
		{aPod(named(types.EksVolume{PersistentVolumeClaim: &types.EksPersistentVolumeClaim{}}), nil), "the persistentVolumeClaim of volume v", "the persistentVolumeClaim of volume v"},
		{aPod(nil, &security{RunAsGroup: aws.Int64(1)}), "securityContext.runAsGroup without runAsUser of container Default", ""},
		{aPod(nil, &security{RunAsNonRoot: aws.Bool(true)}), "securityContext.runAsNonRoot without a runAsUser other than 0 of container Default", ""},
		{aPod(nil, &security{RunAsNonRoot: aws.Bool(true), RunAsUser: aws.Int64(1)}), "", ""},
		{several, "shareProcessNamespace of several containers", ""},
	} {
		if got := strings.Join(PodGaps(c.pod, true), ", "); got != c.contained {
			t.Errorf("in containers: %q, want %q", got, c.contained)
		}
		if got := strings.Join(PodGaps(c.pod, false), ", "); got != c.asProcess {
			t.Errorf("as processes: %q, want %q", got, c.asProcess)
		}
	}
}
