import { ScrapedMetrics, type Clock } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";
import type { GatedPods } from "./gated-pods.ts";

interface GatesMetrics {
  readonly opened: Counter<"result">;
}

export function createGatesMetrics(registry: Registry, pods: GatedPods, clock: Clock): GatesMetrics {
  const scraped = new ScrapedMetrics(registry);
  scraped.gauge(
    "isochrone_gates_waiting_pods",
    "Pods that have Isochrone's scheduling gate.",
    () => pods.size,
  );
  scraped.gauge(
    "isochrone_gates_longest_wait_seconds",
    "Longest time that a pod has waited for Isochrone alone.",
    () => pods.longestWaitMs(clock.monotonic(), clock.now()) / 1000,
  );
  return {
    opened: new Counter({
      name: "isochrone_gates_opened_total",
      help: "Gates opened after their deadline by result (opened, gone: the pod was no more, conflict: others changed the gates, failed).",
      labelNames: ["result"],
      registers: [registry],
    }),
  };
}
