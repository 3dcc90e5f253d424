import { FLOW_ATTRIBUTES, FLOW_METRICS, RESOURCE_ATTRIBUTES, type Series } from "@isochrone/telemetry";
import type { FlowRates, FlowTarget } from "../flow-rates.ts";
import type { PointTime } from "../point-time.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink } from "./sink.ts";
import type { Permit } from "../speakers/permit.ts";
import { textOf } from "../text.ts";

/** Two workloads, their namespace and their owner, as the flow plan has them. */
const MAX_ID_LENGTH = 1_100;
/** What a flow may send is in its plan, and what its queue dropped is for who watches the managers. */
const IGNORED: Sink = { live: true, unused: null };

class SentSink implements Sink {
  readonly unused = null;
  readonly #flow: FlowTarget;

  constructor(flow: FlowTarget) {
    this.#flow = flow;
  }

  get live(): boolean {
    return this.#flow.live;
  }

  number(point: PointTime, value: number): void {
    this.#flow.take(point, value);
  }
}

/** What a network manager's metric flows into; null when the series isn't a manager's. */
export function bindFlow(series: Series, flows: FlowRates, permit: Permit): Sink | null {
  if (!Object.values(FLOW_METRICS).some((name) => name === series.name)) return null;
  if (series.name !== FLOW_METRICS.sent) return IGNORED;
  if (series.temporality !== "delta") return UNUSED_SINKS.unknown_metric;
  const node = textOf(series.resource[RESOURCE_ATTRIBUTES.node]);
  const id = series.attributes[FLOW_ATTRIBUTES.flow];
  if (node === null || typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH)
    return UNUSED_SINKS.unattributed;
  if (!permit.authority.speaksForNode(node)) return NOT_YOURS;
  const flow = flows.open(node, id, permit.rooms.channels);
  return flow === null ? UNUSED_SINKS.too_many_channels : new SentSink(flow);
}
