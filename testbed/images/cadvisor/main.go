// Container metrics for Prometheus: cAdvisor's own library behind the flags of cAdvisor's own program that the testbed uses.
// The library is published as a Go module and the program is not, so where no image can be pulled this stands in for it.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/google/cadvisor/cache/memory"
	"github.com/google/cadvisor/container"
	_ "github.com/google/cadvisor/container/docker/install"
	v2 "github.com/google/cadvisor/info/v2"
	"github.com/google/cadvisor/manager"
	"github.com/google/cadvisor/metrics"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

var (
	listenIP        = flag.String("listen_ip", "", "IP to listen on, all by default")
	port            = flag.Int("port", 8080, "port to listen on")
	storageDuration = flag.Duration("storage_duration", 2*time.Minute, "how long to keep samples in memory")
	storeLabels     = flag.Bool("store_container_labels", true, "turn every container label into a metric label")
	keptLabels      = flag.String("whitelisted_container_labels", "", "comma-separated container labels to keep when not all are")
	disabled        = container.MetricSet{}
)

func main() {
	klog.InitFlags(nil)
	flag.Var(&disabled, "disable_metrics", "comma-separated kinds of metrics to leave out")
	flag.Parse()
	included := container.AllMetrics.Difference(disabled)
	m, err := manager.New(memory.New(*storageDuration, nil), sysfs.NewRealSysFs(), manager.HousekeepingConfigFlags, included,
		http.DefaultClient, []string{""}, []string{""}, "", 0)
	if err != nil {
		log.Fatal(err)
	}
	if err = m.Start(); err != nil {
		log.Fatal(err)
	}
	labels := metrics.DefaultContainerLabels
	if !*storeLabels {
		labels = metrics.BaseContainerLabels(strings.Split(*keptLabels, ","))
	}
	options := v2.RequestOptions{IdType: v2.TypeName, Count: 1, Recursive: true}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewPrometheusCollector(m, labels, included, clock.RealClock{}, options),
		metrics.NewPrometheusMachineCollector(m, included))
	// A container that ends during a scrape is an error of that one container, not of the scrape.
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	log.Fatal(http.ListenAndServe(fmt.Sprintf("%s:%d", *listenIP, *port), nil))
}
