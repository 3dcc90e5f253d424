import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isFailedResponse, LATENCY_BUCKETS, reductionOf } from "./reduction.ts";
import { reduceAttributes } from "./testing/reduce-attributes.ts";

const channel = {
  reporter: "source",
  source_workload: "web",
  source_workload_namespace: "shop",
  destination_workload: "db",
  destination_workload_namespace: "data",
};

describe("reduceAttributes", () => {
  it("keeps reporter and workloads of Istio's metrics, and the class of the response for requests", () => {
    const attributes = {
      ...channel,
      source_principal: "spiffe://x",
      response_code: "503",
      response_flags: "UF",
    };
    expect(reduceAttributes("istio_requests_total", attributes)).toEqual({
      ...channel,
      response_code: "5xx",
    });
    expect(reduceAttributes("istio_request_bytes", attributes)).toEqual(channel);
    expect(reduceAttributes("istio_request_bytes_sum", attributes)).toEqual(channel);
    expect(reduceAttributes("istio_tcp_sent_bytes_total", attributes)).toEqual(channel);
  });

  it.each([
    ["200", "2xx", false],
    ["101", "1xx", false],
    ["404", "4xx", false],
    ["500", "5xx", true],
    ["0", "0", true],
    ["600", "other", false],
    ["weird", "other", false],
    ["5xx", "5xx", true],
  ])("puts response code %j into the class %j", (code, responseClass, failed) => {
    expect(reduceAttributes("istio_requests_total", { response_code: code })).toEqual({
      response_code: responseClass,
    });
    expect([isFailedResponse(code, ""), isFailedResponse(responseClass, "")]).toEqual([failed, failed]);
  });

  it.each(Array.from({ length: 17 }, (_, status) => String(status)))(
    "counts status %s of gRPC as failed where it is the server's fault, in channels and in demand",
    (status) => {
      const failed = ["2", "4", "12", "13", "14", "15"].includes(status);
      const row = { response_code: "200", grpc_response_status: status };
      expect(reduceAttributes("istio_requests_total", row)).toEqual({
        response_code: failed ? "5xx" : "2xx",
      });
      const bucket = { ...row, reporter: "source", le: "+Inf" };
      expect(reduceAttributes(LATENCY_BUCKETS, bucket)).toEqual({
        reporter: "source",
        le: "+Inf",
        ...(failed ? { response_code: "5xx" } : {}),
      });
      expect(reduceAttributes(LATENCY_BUCKETS, { ...bucket, le: "100" }) === null).toBe(failed);
      expect(isFailedResponse("200", status)).toBe(failed);
    },
  );

  it.each([
    ["the node", { id: "/", image: "" }, { id: "/" }],
    [
      "a container of a standalone cAdvisor that Prometheus scraped as a pod",
      {
        id: "/kubepods/x",
        name: "k8s_app",
        namespace: "monitoring",
        pod: "cadvisor-x7k2p",
        container: "cadvisor",
        container_label_io_kubernetes_pod_namespace: "n",
        container_label_io_kubernetes_pod_name: "p",
        container_label_io_kubernetes_container_name: "app",
      },
      { namespace: "n", pod: "p", container: "app" },
    ],
    [
      "a pause container of a standalone cAdvisor",
      {
        id: "/kubepods/x",
        name: "k8s_POD",
        container_label_io_kubernetes_pod_namespace: "n",
        container_label_io_kubernetes_pod_name: "p",
        container_label_io_kubernetes_container_name: "POD",
      },
      null,
    ],
    [
      "a sandbox of a standalone cAdvisor on containerd",
      {
        id: "/kubepods/x",
        name: "4f1c1e",
        container_label_io_kubernetes_pod_namespace: "n",
        container_label_io_kubernetes_pod_name: "p",
      },
      null,
    ],
    [
      "a container",
      { id: "/kubepods/x", pod: "p", namespace: "n", container: "app", name: "abc", image: "i" },
      { namespace: "n", pod: "p", container: "app" },
    ],
    [
      "a pod's cgroup",
      { id: "/kubepods/x", pod: "p", namespace: "n", container: "" },
      { namespace: "n", pod: "p" },
    ],
    [
      "a pause container",
      { id: "/kubepods/x/y", pod: "p", namespace: "n", container: "POD", name: "k8s" },
      null,
    ],
    ["a pause container of containerd", { id: "/kubepods/x/y", pod: "p", namespace: "n", name: "abc" }, null],
    ["a system slice", { id: "/system.slice/ssh" }, null],
    [
      "a row of /metrics/resource",
      { pod: "p", namespace: "n", container: "app" },
      { namespace: "n", pod: "p", container: "app" },
    ],
  ])("knows %s", (_, attributes, reduced) => {
    expect(reduceAttributes("container_cpu_usage_seconds_total", attributes)).toEqual(reduced);
    expect(reduceAttributes("container_memory_working_set_bytes", attributes)).toEqual(reduced);
  });

  it("keeps the clusters of a call's ends, the target's where it is another one", () => {
    for (const name of ["istio_requests_total", "istio_tcp_sent_bytes_total"]) {
      const call = (target: string) => ({ ...channel, source_cluster: "here", destination_cluster: target });
      expect(reduceAttributes(name, call("there"))).toEqual(call("there"));
      expect(reduceAttributes(name, call("here"))).toEqual({ ...channel, source_cluster: "here" });
    }
  });

  it.each(["cluster", "k8s_cluster_name", "K8S_ClusterName"])(
    "keeps the label %s of all families",
    (label) => {
      const rows: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
        ["container_cpu_usage_seconds_total", { namespace: "shop", pod: "web-0", container: "web" }],
        ["container_network_receive_bytes_total", { id: "/", interface: "eth0" }],
        ["node_memory_MemAvailable_bytes", {}],
        ["node_cpu_seconds_total", { mode: "idle" }],
        ["istio_request_bytes", channel],
        ["obi_network_flow_bytes_total", { k8s_src_owner_name: "web" }],
        ["request_total", { direction: "outbound" }],
      ];
      for (const [name, attributes] of rows) {
        const row = { ...attributes, [label]: "here" };
        expect({ name, labels: reduceAttributes(name, row) }).toEqual({ name, labels: row });
      }
    },
  );

  it("keeps only the node's own interfaces", () => {
    const name = "container_network_receive_bytes_total";
    expect(reduceAttributes(name, { id: "/", interface: "eth0", image: "" })).toEqual({
      id: "/",
      interface: "eth0",
    });
    expect(reduceAttributes(name, { id: "/", interface: "veth1" })).toBe(null);
    expect(reduceAttributes(name, { id: "/pod", interface: "eth0" })).toBe(null);
  });

  it("keeps of node_exporter what is free, of all CPUs together", () => {
    const name = "node_cpu_seconds_total";
    expect(reduceAttributes(name, { cpu: "3", mode: "idle", instance: "n1" })).toEqual({ mode: "idle" });
    for (const mode of ["iowait", "user", "steal"])
      expect(reduceAttributes(name, { cpu: "3", mode })).toBe(null);
    expect(reduceAttributes("node_memory_MemAvailable_bytes", { instance: "n1" })).toEqual({});
  });

  it("leaves families without a reduction as they are", () => {
    const attributes = { any: "thing" };
    expect(reduceAttributes("k8s.pod.cpu.time", attributes)).toBe(attributes);
    expect(reductionOf("istio_requests_total_sum")).toBe(undefined);
  });

  it("changes nothing that is reduced already", () => {
    const label = fc.constantFrom("", "/", "POD", "app", "p", "200", "503", "0", "2xx", "eth0", "x");
    const attributes = fc.dictionary(
      fc.constantFrom(
        "id",
        "pod",
        "namespace",
        "container",
        "name",
        "interface",
        "reporter",
        "response_code",
        "source_workload",
      ),
      label,
    );
    const family = fc.constantFrom(
      "istio_requests_total",
      "istio_request_bytes",
      "container_cpu_usage_seconds_total",
      "container_network_receive_bytes_total",
      "machine_cpu_cores",
    );
    fc.assert(
      fc.property(family, attributes, (name, given) => {
        const once = reduceAttributes(name, given);
        expect(once === null ? null : reduceAttributes(name, once)).toEqual(once);
      }),
    );
  });
});
