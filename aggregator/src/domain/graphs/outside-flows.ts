import { OUTSIDE_NAMESPACE } from "@isochrone/telemetry/outside";
import type { OutsideFlow } from "@isochrone/topology";
import { fullName, type NamespacedName } from "../cluster-state.ts";
import { compareText } from "../compare.ts";
import type { ChannelRates } from "../traffic/channels.ts";
import type { Figures } from "./figures.ts";
import { ageSeconds } from "./graph-time.ts";
import type { EndRates } from "./observed-channels.ts";

interface Exchange {
  readonly destination: string;
  sent: ChannelRates | null;
  received: ChannelRates | null;
}

export class OutsideFlows {
  readonly #byWorkload = new Map<string, { readonly workload: NamespacedName; exchanges: Exchange[] }>();

  take({ key, source, target }: EndRates): void {
    const rates = source ?? target;
    if (rates === null) return;
    const isSent = key.targetNamespace === OUTSIDE_NAMESPACE;
    const workload = isSent
      ? { namespace: key.sourceNamespace, name: key.source }
      : { namespace: key.targetNamespace, name: key.target };
    const exchange = this.#exchange(workload, isSent ? key.target : key.source);
    if (isSent) exchange.sent = rates;
    else exchange.received = rates;
  }

  #exchange(workload: NamespacedName, destination: string): Exchange {
    const name = fullName(workload);
    let known = this.#byWorkload.get(name);
    if (known === undefined) this.#byWorkload.set(name, (known = { workload, exchanges: [] }));
    let exchange = known.exchanges.find((each) => each.destination === destination);
    if (exchange === undefined)
      known.exchanges.push((exchange = { destination, sent: null, received: null }));
    return exchange;
  }

  workloads(): NamespacedName[] {
    return Array.from(this.#byWorkload.values(), ({ workload }) => workload);
  }

  of(workload: NamespacedName, label: string, nowMs: number, figures: Figures): OutsideFlow[] {
    const { exchanges = [] } = this.#byWorkload.get(fullName(workload)) ?? {};
    return exchanges
      .map((exchange) => flowOf(exchange, label, nowMs, figures))
      .sort((a, b) => compareText(a.destination, b.destination));
  }
}

function flowOf(
  { destination, sent, received }: Exchange,
  workload: string,
  nowMs: number,
  figures: Figures,
): OutsideFlow {
  const newestMs = Math.max(...[sent, received].map((rates) => rates?.newestMs ?? -Infinity));
  const bytes = both("bytesPerSecond", sent, received, figures);
  const requests = both("requestsPerSecond", sent, received, figures);
  return {
    workload,
    destination,
    sentBytesPerSecond: bytes?.sent ?? null,
    receivedBytesPerSecond: bytes?.received ?? null,
    ...(requests === null
      ? {}
      : { sentRequestsPerSecond: requests.sent, receivedRequestsPerSecond: requests.received }),
    countedBy: (sent ?? received)!.reporter,
    ageSeconds: ageSeconds(newestMs, nowMs),
  };
}

/** A source that counts one direction counts both, so a missing one is 0. Null: no source counts either. */
function both(
  quantity: "bytesPerSecond" | "requestsPerSecond",
  sent: ChannelRates | null,
  received: ChannelRates | null,
  figures: Figures,
): { readonly sent: number; readonly received: number } | null {
  const [out, back] = [sent?.[quantity] ?? null, received?.[quantity] ?? null];
  if (out === null && back === null) return null;
  return { sent: figures.of(out ?? 0) ?? 0, received: figures.of(back ?? 0) ?? 0 };
}
