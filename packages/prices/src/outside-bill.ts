// Cost of traffic leaving the cluster.
import type { BillReason, OutsideFlow } from "@isochrone/topology";
import { Amount } from "./amounts.ts";
import { CHANNELS_PER_STEP, workloadEnds } from "./billed-channels.ts";
import type { BilledWorkflow, End } from "./billed.ts";
import type { Place, PlaceOf } from "./place.ts";
import type { PriceRow } from "./row.ts";
import type { OutsidePrice, PriceTable, Unpriced as NoPrice } from "./table.ts";
import { Unpriced } from "./unpriced.ts";

export interface BilledOutside {
  readonly source: End;
  readonly destination: string;
  readonly amount: Amount;
  readonly rows: readonly PriceRow[];
  readonly unpriced: Unpriced;
}

/** Part of a bill. Assumes equal traffic of replicas. @param monthSeconds length of a month */
export function* outsideSteps(
  workflows: Iterable<BilledWorkflow>,
  table: PriceTable,
  placeOf: PlaceOf,
  monthSeconds: number,
): Generator<void, BilledOutside[]> {
  const billed: BilledOutside[] = [];
  for (const workflow of workflows) {
    const { outside = [] } = workflow;
    if (outside.length === 0) continue;
    const endOf = workloadEnds(workflow);
    for (const flow of outside) {
      const source = endOf(flow.workload);
      if (source !== null) billed.push(billedOf(source, flow, table, placeOf, monthSeconds));
      if (billed.length % CHANNELS_PER_STEP === 0) yield;
    }
  }
  return billed;
}

function billedOf(
  source: End,
  flow: OutsideFlow,
  table: PriceTable,
  placeOf: PlaceOf,
  monthSeconds: number,
): BilledOutside {
  const { destination, sentBytesPerSecond: sent, receivedBytesPerSecond: received } = flow;
  const amount = new Amount();
  const rows = new Set<PriceRow>();
  const unpriced = new Unpriced();
  if (sent === null || received === null) {
    amount.addUnpriced(null, "no_bytes");
    return { source, destination, amount, rows: [], unpriced };
  }
  const places = source.pods.flatMap(({ node }) => (node === null ? [] : (placeOf(node) ?? [])));
  if (places.length === 0) {
    amount.addUnpriced(sent + received, "no_pods");
    unpriced.add(sent + received, "no_pods");
  }
  const priceAt = new Map<Place, OutsidePrice | NoPrice>();
  for (const place of places) {
    const price = priceAt.get(place) ?? table.outside(place, destination);
    priceAt.set(place, price);
    const bytes = (sent + received) / places.length;
    if (typeof price === "string") {
      amount.addUnpriced(bytes, price satisfies BillReason);
      unpriced.addOutside(bytes, price, place.provider, destination);
    } else {
      const perSecond = sent * price.sentPerByte + received * price.receivedPerByte;
      amount.addPriced(bytes, (perSecond / places.length) * monthSeconds);
      for (const row of price.rows) rows.add(row);
    }
  }
  return { source, destination, amount, rows: [...rows], unpriced };
}
