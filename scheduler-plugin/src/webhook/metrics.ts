import type { CertificateEvents } from "@isochrone/kubernetes";
import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Exclusion } from "./gate-rules.ts";
import type { ReviewFault } from "./admission-review.ts";

/** Seconds. The webhook delays every pod's creation. */
const BUCKETS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2];

/** Outcome for a pod. resource: asks for the managed resource instead of the gate. */
export type PodOutcome = "planned" | "gated" | "resource" | "no_planner" | Exclusion;
export type FaultReason =
  | ReviewFault
  | "no_pod"
  | "too_large"
  | "overloaded"
  | "not_found"
  | "aborted"
  | "internal";

export interface WebhookMetrics {
  readonly pods: Counter<"outcome">;
  readonly bandwidth: Counter;
  readonly unanswered: Counter;
  readonly faults: Counter<"reason">;
  readonly seconds: Histogram;
  readonly failures: Counter<"what" | "reason">;
  readonly steps: Counter<"step">;
  readonly expiry: Gauge<"certificate">;
  readonly registered: Gauge;
  readonly registrations: Counter;
  count(pod: PodOutcome): void;
  fault(reason: FaultReason): void;
  failed(what: "heartbeat" | "certificates", reason: string): void;
  readonly certificates: CertificateEvents;
}

export function createWebhookMetrics(registry: Registry, heartbeatAgeSeconds: () => number): WebhookMetrics {
  const registers = [registry];
  new ScrapedMetrics(registry).gauge(
    "isochrone_webhook_planner_heartbeat_age_seconds",
    "Age of the planner's last sign of life as the webhook knows it; NaN: none was ever seen, or it has said goodbye.",
    heartbeatAgeSeconds,
  );
  const counters = createCounters(registers);
  const gauges = createGauges(registers);
  const { pods, faults, failures, steps, registrations } = counters;
  return {
    ...counters,
    ...gauges,
    count: (outcome) => pods.inc({ outcome }),
    fault: (reason) => faults.inc({ reason }),
    failed: (what, reason) => failures.inc({ what, reason }),
    certificates: {
      stepped: (step) => steps.inc({ step }),
      expires: (certificate, notAfterSeconds) => gauges.expiry.set({ certificate }, notAfterSeconds),
      published: () => registrations.inc(),
      isPublished: (is) => gauges.registered.set(is ? 1 : 0),
    },
  };
}

function createCounters(
  registers: Registry[],
): Pick<
  WebhookMetrics,
  "pods" | "bandwidth" | "unanswered" | "faults" | "failures" | "steps" | "registrations"
> {
  return {
    pods: new Counter({
      name: "isochrone_webhook_pods_total",
      help: "New pods that the webhook was asked about, by outcome (planned: created with its nodes; gated; resource: the managed resource instead; no_planner; else why the pod is left alone).",
      labelNames: ["outcome"],
      registers,
    }),
    bandwidth: new Counter({
      name: "isochrone_webhook_bandwidth_annotated_total",
      help: "New pods that got the CNI's bandwidth annotations of their AppGroup.",
      registers,
    }),
    unanswered: new Counter({
      name: "isochrone_webhook_unanswered_pods_total",
      help: "New pods that ask for the gate and were created without the webhook's answer: it was slow, unreachable or not registered. Each replica counts all of them.",
      registers,
    }),
    faults: new Counter({
      name: "isochrone_webhook_faults_total",
      help: "Requests that were about no new pod or could not be read, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    failures: new Counter({
      name: "isochrone_webhook_failures_total",
      help: "Failed looks at the planner's heartbeat, and at certificates and registration, by reason.",
      labelNames: ["what", "reason"],
      registers,
    }),
    steps: new Counter({
      name: "isochrone_webhook_certificate_steps_total",
      help: "Changes of the certificates by this replica (create, prepare and switch of an authority, renew, retire).",
      labelNames: ["step"],
      registers,
    }),
    registrations: new Counter({
      name: "isochrone_webhook_registrations_total",
      help: "Writes of the MutatingWebhookConfiguration by this replica.",
      registers,
    }),
  };
}

function createGauges(registers: Registry[]): Pick<WebhookMetrics, "seconds" | "expiry" | "registered"> {
  return {
    seconds: new Histogram({
      name: "isochrone_webhook_seconds",
      help: "Time from a request's last byte to its answer.",
      buckets: BUCKETS,
      registers,
    }),
    expiry: new Gauge({
      name: "isochrone_webhook_certificate_expiry_seconds",
      help: "Until when a certificate of the webhook (serving, authority) is good, seconds since the epoch.",
      labelNames: ["certificate"],
      registers,
    }),
    registered: new Gauge({
      name: "isochrone_webhook_registered",
      help: "1 while the registration is as this leader wants it, else 0; 0 on other replicas.",
      registers,
    }),
  };
}
