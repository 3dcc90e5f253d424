import type { Identity } from "./protocol.ts";

/** Bucket bounds of Istio's Envoy, in the metric's unit. */
const BOUNDS = [
  0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000,
  1_800_000, 3_600_000,
] as const;

export const FLAGS = {
  none: "-",
  noHealthyUpstream: "UH",
  connectionFailure: "UF",
  connectionTermination: "UC",
  upstreamTimeout: "UT",
  downstreamTermination: "DC",
  noRoute: "NR",
} as const;
export type Flag = (typeof FLAGS)[keyof typeof FLAGS];

const FLAG_LIST = Object.values(FLAGS);

export interface Outcome {
  readonly code: number;
  readonly flag: Flag;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly durationMs: number;
}

interface ChannelLabels {
  readonly reporter: "source" | "destination";
  readonly source: Identity | null;
  readonly destination: Identity | null;
  readonly service: string;
  readonly serviceNamespace: string;
}

class Histogram {
  readonly #counts = new Float64Array(BOUNDS.length + 1);
  #sum = 0;

  observe(value: number): void {
    let index = 0;
    while (index < BOUNDS.length && value > BOUNDS[index]!) index++;
    this.#counts[index]!++;
    this.#sum += value;
  }

  render(name: string, labels: string, lines: string[]): void {
    let total = 0;
    for (const [index, count] of this.#counts.entries()) {
      total += count;
      lines.push(`${name}_bucket{${labels},le="${BOUNDS[index] ?? "+Inf"}"} ${total}`);
    }
    lines.push(`${name}_sum{${labels}} ${this.#sum}`, `${name}_count{${labels}} ${total}`);
  }
}

interface Series {
  readonly labels: string;
  requests: number;
  readonly requestBytes: Histogram;
  readonly responseBytes: Histogram;
  readonly duration: Histogram;
}

/** Series of one channel (caller, callee, service). Label strings are cached per response code and flag. */
export class Channel {
  readonly #labels: ChannelLabels;
  readonly #series = new Map<number, Series>();

  constructor(labels: ChannelLabels) {
    this.#labels = labels;
  }

  record(outcome: Outcome): void {
    const key = outcome.code * FLAG_LIST.length + FLAG_LIST.indexOf(outcome.flag);
    let series = this.#series.get(key);
    if (series === undefined) {
      const labels = labelText(this.#labels, outcome.code, outcome.flag);
      series = {
        labels,
        requests: 0,
        requestBytes: new Histogram(),
        responseBytes: new Histogram(),
        duration: new Histogram(),
      };
      this.#series.set(key, series);
    }
    series.requests++;
    series.requestBytes.observe(outcome.requestBytes);
    series.responseBytes.observe(outcome.responseBytes);
    series.duration.observe(outcome.durationMs);
  }

  series(): Iterable<Series> {
    return this.#series.values();
  }
}

export class SidecarMetrics {
  readonly #channels = new Map<string, Channel>();

  channel(key: string, labels: () => ChannelLabels): Channel {
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = new Channel(labels());
      this.#channels.set(key, channel);
    }
    return channel;
  }

  render(): string {
    const series = [...this.#channels.values()].flatMap((channel) => [...channel.series()]);
    const lines = ["# TYPE istio_requests_total counter"];
    for (const { labels, requests } of series) lines.push(`istio_requests_total{${labels}} ${requests}`);
    const histograms = [
      ["istio_request_bytes", "requestBytes"],
      ["istio_response_bytes", "responseBytes"],
      ["istio_request_duration_milliseconds", "duration"],
    ] as const;
    for (const [name, field] of histograms) {
      lines.push(`# TYPE ${name} histogram`);
      for (const one of series) one[field].render(name, one.labels, lines);
    }
    return `${lines.join("\n")}\n`;
  }
}

/** Labels of Istio's standard metrics. Plain text traffic: principals are unknown, the policy is none. */
function labelText(labels: ChannelLabels, code: number, flag: Flag): string {
  const { reporter, source, destination, service, serviceNamespace } = labels;
  const known = service !== "unknown";
  const pairs: readonly (readonly [string, string])[] = [
    ["reporter", reporter],
    ...side("source", source),
    ...side("destination", destination),
    ["destination_service", known ? `${service}.${serviceNamespace}.svc.cluster.local` : service],
    ["destination_service_name", service],
    ["destination_service_namespace", serviceNamespace],
    ["request_protocol", "http"],
    ["response_code", String(code)],
    ["grpc_response_status", ""],
    ["response_flags", flag],
    ["connection_security_policy", reporter === "source" ? "unknown" : "none"],
  ];
  return pairs.map(([name, value]) => `${name}="${escape(value)}"`).join(",");
}

function side(prefix: "source" | "destination", identity: Identity | null): [string, string][] {
  const unknown = "unknown";
  return [
    [`${prefix}_workload`, identity?.workload ?? unknown],
    [`${prefix}_canonical_service`, identity?.app ?? unknown],
    [`${prefix}_canonical_revision`, identity?.version ?? "latest"],
    [`${prefix}_workload_namespace`, identity?.namespace ?? unknown],
    [`${prefix}_principal`, unknown],
    [`${prefix}_app`, identity?.app ?? unknown],
    [`${prefix}_version`, identity?.version ?? unknown],
    [`${prefix}_cluster`, identity === null ? unknown : "Kubernetes"],
  ];
}

function escape(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
