import { billSteps, type PriceTable } from "@isochrone/prices";
import { definedOf } from "@isochrone/primitives";
import { inTurns } from "@isochrone/primitives/algorithms";
import type { Bill, BillHistory } from "@isochrone/topology";
import type { PublishedGraphs } from "../../domain/graphs/graph-keeper.ts";
import { rfc3339 } from "../../domain/graphs/graph-time.ts";
import type { WindowName } from "../../domain/windows/window-shape.ts";

/** One point per minute, so 60 per hour. */
const POINT_GAP_MS = 60_000;

interface BillsOptions {
  readonly prices: PriceTable;
  readonly windowSeconds: (window: WindowName) => number;
  /** Retention of sums, ms. */
  readonly horizonMs: number;
  /** Called between two steps of the work; a returned promise is awaited. */
  readonly turn: () => Promise<void> | null;
}

interface BillPart {
  /** Channels that begin or end in this namespace, and its workloads. */
  readonly namespace?: string;
  readonly limit: number;
}

export class Bills {
  readonly #options: BillsOptions;
  /** Key: the workflows object, which is the same for all readers. */
  readonly #bills = new WeakMap<object, Promise<Bill>>();
  readonly #points: { readonly atMs: number; readonly point: BillHistory["points"][number] }[] = [];

  constructor(options: BillsOptions) {
    this.#options = options;
  }

  /** Concurrent requests for a bill share one computation. */
  of(graphs: PublishedGraphs, window: WindowName): Promise<Bill> {
    const workflows = graphs.workflows(window);
    let bill = this.#bills.get(workflows);
    if (bill === undefined) {
      bill = this.#workOut(graphs, window);
      this.#bills.set(workflows, bill);
    }
    return bill;
  }

  #workOut(graphs: PublishedGraphs, window: WindowName): Promise<Bill> {
    const { prices, windowSeconds, turn } = this.#options;
    const { version, builtAtMs, nodes } = graphs;
    const billed = {
      version,
      observedAt: rfc3339(builtAtMs),
      windowSeconds: windowSeconds(window),
      nodes,
      workflows: [...graphs.workflows(window).values()],
      demand: graphs.demand(window),
    };
    return inTurns(billSteps(billed, prices), turn);
  }

  async keep(graphs: PublishedGraphs): Promise<void> {
    const { horizonMs } = this.#options;
    const { builtAtMs: atMs } = graphs;
    // Drop points in the future after the clock was set back.
    while ((this.#points.at(-1)?.atMs ?? -Infinity) > atMs) this.#points.pop();
    const last = this.#points.at(-1);
    if (horizonMs === 0 || (last !== undefined && atMs - last.atMs < POINT_GAP_MS)) return;
    const { total } = await this.of(graphs, "full");
    const { bytesPerSecond, perMonth, unpricedBytesPerSecond } = total;
    const point = { at: rfc3339(atMs), bytesPerSecond, perMonth, unpricedBytesPerSecond };
    this.#points.push({ atMs, point });
    while (this.#points[0]!.atMs < atMs - horizonMs) this.#points.shift();
  }

  get prices(): PriceTable {
    return this.#options.prices;
  }

  history(): BillHistory {
    return { currency: this.#options.prices.currency, points: this.#points.map(({ point }) => point) };
  }
}

/** Filters the lists. Sums still cover all channels. */
export function partOf(bill: Bill, { namespace, limit }: BillPart): Bill {
  const isIn = (end: { readonly namespace: string }): boolean =>
    namespace === undefined || end.namespace === namespace;
  const channels = bill.channels.filter(({ source, target }) => isIn(source) || isIn(target));
  const workloads = bill.workloads.filter(isIn);
  const outside = bill.outside?.filter(({ source }) => isIn(source));
  const beyond = (lines: readonly unknown[] = []): number => Math.max(0, lines.length - limit);
  const leftOut = beyond(channels) + beyond(workloads) + beyond(outside);
  return {
    ...bill,
    channels: channels.slice(0, limit),
    workloads: workloads.slice(0, limit),
    ...definedOf({ outside: outside?.slice(0, limit) }),
    leftOut,
  };
}
