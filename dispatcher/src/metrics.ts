import { Counter, Histogram, type Registry } from "prom-client";
import { ScrapedMetrics } from "@isochrone/runtime";
import type { EndpointRefusal } from "./domain/pods.ts";
import type { Outcome, RefusalReason } from "./ports/ports.ts";

const MAX_SERVICES = 200;
const MAX_ZONES = 50;
const OTHER = "other";
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05];

interface Readings {
  inFlight(): number;
  connections(): number;
  graphAgeSeconds(): number | null;
  isDraining(): boolean;
  refusedEndpoints(): Iterable<readonly [labels: { readonly reason: EndpointRefusal }, count: number]>;
}

/** The number of series doesn't grow with endpoints, hosts or paths. */
export class DispatcherMetrics {
  readonly #requests: Counter<"service" | "outcome">;
  readonly #sent: Counter<"service" | "zone">;
  readonly #refused: Counter<"reason">;
  readonly #retries: Counter<"fault">;
  readonly #reports: Counter<"result">;
  readonly #probes: Counter<"result">;
  readonly #malformed: Counter;
  readonly #unlearned: Counter;
  readonly #added: Histogram;
  readonly #services = new Set<string>();
  readonly #zones = new Set<string>();

  constructor(registry: Registry, readings: Readings) {
    const registers = [registry];
    const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
      new Counter({ name, help, labelNames, registers });
    this.#requests = counter(
      "isochrone_dispatcher_requests_total",
      "Requests for Services, by outcome: in_time and late where there is a deadline, answered where there is none, failed, refused, abandoned by the client. Beyond 200 Services the label is other.",
      ["service", "outcome"],
    );
    this.#sent = counter(
      "isochrone_dispatcher_sent_total",
      "Requests sent to endpoints, tries again included, by the endpoint's zone.",
      ["service", "zone"],
    );
    this.#refused = counter(
      "isochrone_dispatcher_refused_total",
      "Requests that the dispatcher answered itself, by reason.",
      ["reason"],
    );
    this.#retries = counter(
      "isochrone_dispatcher_retries_total",
      "Requests sent again, to another endpoint or on another connection, by what went wrong.",
      ["fault"],
    );
    this.#reports = counter(
      "isochrone_dispatcher_load_reports_total",
      "Loads that endpoints said of themselves in answers: taken, or malformed and passed over.",
      ["result"],
    );
    this.#probes = counter(
      "isochrone_dispatcher_probes_total",
      "Questions to endpoints about their load: taken, malformed, failed.",
      ["result"],
    );
    this.#malformed = counter(
      "isochrone_dispatcher_malformed_deadlines_total",
      "Headers with a deadline that can't be read.",
      [],
    );
    this.#unlearned = counter(
      "isochrone_dispatcher_unlearned_total",
      "Choices by deadline in place of the learned policy, which had no answer: too many endpoints.",
      [],
    );
    this.#added = new Histogram({
      name: "isochrone_dispatcher_decision_seconds",
      help: "Time to choose an endpoint.",
      buckets: SECONDS,
      registers,
    });
    const scraped = new ScrapedMetrics(registry);
    scraped.gauge("isochrone_dispatcher_in_flight", "Requests under way.", () => readings.inFlight());
    scraped.gauge("isochrone_dispatcher_connections", "Connections of clients.", () =>
      readings.connections(),
    );
    scraped.gauge(
      "isochrone_dispatcher_graph_age_seconds",
      "Time since the cluster graph was last confirmed; NaN: there is none, and endpoints are equally near.",
      () => readings.graphAgeSeconds(),
    );
    scraped.gauges(
      "isochrone_dispatcher_endpoints_refused",
      "Endpoints in slices to which nothing is sent, because they aren't pods of the Service: no_selector (the Service selects no pods), no_pod, not_selected, other_address (the pod has another one), ended, too_many (beyond 5,000 of a Service).",
      ["reason"],
      () => readings.refusedEndpoints(),
    );
    scraped.gauge("isochrone_dispatcher_draining", "1 while the dispatcher stops.", () =>
      readings.isDraining() ? 1 : 0,
    );
  }

  ended(service: string, outcome: Outcome): void {
    this.#requests.inc({ service: bounded(this.#services, service, MAX_SERVICES), outcome });
  }

  sent(service: string, zone: string | null): void {
    this.#sent.inc({
      service: bounded(this.#services, service, MAX_SERVICES),
      zone: zone === null ? "" : bounded(this.#zones, zone, MAX_ZONES),
    });
  }

  refused(reason: RefusalReason | "connections" | "pipelined"): void {
    this.#refused.inc({ reason });
  }

  retried(fault: string): void {
    this.#retries.inc({ fault });
  }

  reported(isTaken: boolean): void {
    this.#reports.inc({ result: isTaken ? "taken" : "malformed" });
  }

  probed(result: "taken" | "malformed" | "failed"): void {
    this.#probes.inc({ result });
  }

  malformedDeadline(): void {
    this.#malformed.inc();
  }

  unlearned(): void {
    this.#unlearned.inc();
  }

  decided(milliseconds: number): void {
    this.#added.observe(milliseconds / 1000);
  }
}

function bounded(known: Set<string>, name: string, most: number): string {
  if (known.has(name)) return name;
  if (known.size >= most) return OTHER;
  known.add(name);
  return name;
}
