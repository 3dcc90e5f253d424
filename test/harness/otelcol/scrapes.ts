import { exportRequest } from "@isochrone/telemetry/testing";

interface Request {
  readonly resourceMetrics: readonly {
    readonly resource: {
      readonly attributes: readonly {
        readonly key: string;
        readonly value: { readonly stringValue: string };
      }[];
    };
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string;
        readonly gauge?: { readonly dataPoints: readonly { readonly timeUnixNano: number }[] };
        readonly sum?: {
          readonly dataPoints: readonly {
            readonly startTimeUnixNano: number;
            readonly timeUnixNano: number;
          }[];
        };
      }[];
    }[];
  }[];
}

function decode(value: Uint8Array): Request["resourceMetrics"] {
  const request = exportRequest.toObject(exportRequest.decode(value), { longs: Number });
  return (request as unknown as Request).resourceMetrics;
}

function metricsOf(value: Uint8Array): Request["resourceMetrics"][number]["scopeMetrics"][number]["metrics"] {
  return decode(value).flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
}

export function countedSeconds(value: Uint8Array): number {
  const points = metricsOf(value).flatMap(({ sum }) => sum?.dataPoints ?? []);
  const newest = Math.max(...points.map(({ timeUnixNano }) => timeUnixNano));
  return (newest - Math.min(...points.map(({ startTimeUnixNano }) => startTimeUnixNano))) / 1e9;
}

interface Scrape {
  readonly job: string;
  readonly atMs: number;
}

/** Page and scrape time, from the metric that the Collector adds itself. */
export function scrapeOf(value: Uint8Array): Scrape {
  const metrics = metricsOf(value);
  const up = metrics.find(({ name }) => name === "up");
  if (up?.gauge === undefined) throw new Error(`no "up" among ${metrics.map(({ name }) => name).join(", ")}`);
  const job = decode(value)[0]!.resource.attributes.find(({ key }) => key === "service.name");
  return { job: job!.value.stringValue, atMs: Math.round(up.gauge.dataPoints[0]!.timeUnixNano / 1e6) };
}

export function stepsOf<T extends Scrape>(scrapes: readonly T[], count: number): T[] {
  const inOrder = scrapes.toSorted((a, b) => a.atMs - b.atMs);
  return ["cadvisor", "istio"].flatMap((page) => inOrder.filter(({ job }) => job === page).slice(0, count));
}

/** Scrape times of the Istio page, which has no timestamps, at every step. */
export function timesOf(steps: readonly Scrape[]): number[] {
  return steps.flatMap(({ job, atMs }) => (job === "istio" ? [atMs] : []));
}
