import { describe, expect, it } from "vitest";
import { joinTargets, staticTargets } from "./static-targets.ts";

describe("staticTargets", () => {
  it("reads kind and address; pages of kubelets over TLS get the kubelet's access, no others", () => {
    const entries = [
      "cadvisor=https://192.0.2.1:10250/metrics/cadvisor",
      "resource=http://192.0.2.1:10255/metrics/resource",
      "service_graph=https://otelcol:8889/metrics",
      "hubble=http://192.0.2.1:9965/metrics",
    ];
    expect(staticTargets(entries).targets()).toEqual([
      {
        kind: "cadvisor",
        url: "https://192.0.2.1:10250/metrics/cadvisor",
        instance: "https://192.0.2.1:10250/metrics/cadvisor",
        access: "kubelet",
      },
      ...entries.slice(1).map((entry) => {
        const [kind, url] = entry.split("=");
        return { kind, url, instance: url };
      }),
    ]);
  });

  it.each([
    "http://a/metrics",
    "istio=ftp://a",
    "envoy=http://a",
    "istio=http://",
    "istio=/metrics",
    "istio=http://:80/",
    "istio=http://a:99999/",
    "istio=http://a:0/",
    "istio=http://a b/",
    "istio=http://a/#x",
  ])("refuses %s", (entry) => {
    expect(() => staticTargets([entry])).toThrow(`got ${JSON.stringify(entry)}`);
  });

  it("refuses passwords, which it doesn't show, and a page twice", () => {
    expect(() => staticTargets(["istio=http://me:secret@a/"])).toThrow(
      'collector.staticTargets must have a URL without user and password, which would be in logs, got "istio=http://...@a/"',
    );
    expect(() => staticTargets(["istio=http://a/", "istio=http://a/"])).toThrow(
      'collector.staticTargets must name each page once, got "istio=http://a/"',
    );
  });

  it("joins sources in their order", () => {
    const sources = ["istio=http://a/", "istio=http://b/"].map((entry) => staticTargets([entry]));
    expect(
      joinTargets(sources)
        .targets()
        .map(({ url }) => url),
    ).toEqual(["http://a/", "http://b/"]);
  });
});
