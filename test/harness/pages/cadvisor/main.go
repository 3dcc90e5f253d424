// cadvisor-page serves a /metrics page of cAdvisor's library for the cgroups of this machine, with the labels and the metric sets that the
// kubelet gives it (k8s.io/kubernetes pkg/kubelet/server, pkg/kubelet/cadvisor). What the kubelet learns from the container runtime comes from
// a JSON file: cgroup -> labels. Arguments: listen address, that file.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/cadvisor/cache/memory"
	"github.com/google/cadvisor/container"
	"github.com/google/cadvisor/container/raw"
	info "github.com/google/cadvisor/info/v1"
	v2 "github.com/google/cadvisor/info/v2"
	"github.com/google/cadvisor/manager"
	"github.com/google/cadvisor/metrics"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
)

var _ = raw.Register

func main() {
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	runtime := map[string]map[string]string{}
	if err := json.Unmarshal(text, &runtime); err != nil {
		log.Fatal(err)
	}
	dynamic, interval, age := true, time.Second, time.Duration(0)
	set := container.MetricSet{
		container.CpuUsageMetrics: {}, container.MemoryUsageMetrics: {}, container.CpuLoadMetrics: {}, container.DiskIOMetrics: {},
		container.NetworkUsageMetrics: {}, container.AppMetrics: {}, container.ProcessMetrics: {}, container.OOMMetrics: {},
	}
	m, err := manager.New(memory.New(time.Minute, nil), sysfs.NewRealSysFs(),
		manager.HousekeepingConfig{Interval: &interval, AllowDynamic: &dynamic}, set, http.DefaultClient, []string{"/kubepods"}, nil, "", 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := m.Start(); err != nil {
		log.Fatal(err)
	}
	labels := func(c *info.ContainerInfo) map[string]string {
		set := map[string]string{"id": c.Name, "name": "", "image": "", "pod": "", "namespace": "", "container": ""}
		for name, value := range runtime[c.Name] {
			set[name] = value
		}
		return set
	}
	registry := prometheus.NewRegistry()
	options := v2.RequestOptions{IdType: v2.TypeName, Count: 1, Recursive: true, MaxAge: &age}
	registry.MustRegister(
		metrics.NewPrometheusCollector(m, labels, set, clock.RealClock{}, options),
		metrics.NewPrometheusMachineCollector(m, set),
	)
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
