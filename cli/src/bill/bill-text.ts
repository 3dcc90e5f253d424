import type { Bill, BillAmount, BillZone } from "@isochrone/topology";
import type { BillSort } from "../output/format.ts";
import { table, type Cell } from "../output/table.ts";
import { money } from "./money-text.ts";

export function billText(bill: Bill, by: BillSort): string {
  const { currency, observedAt, windowSeconds, leftOut } = bill;
  const { head, rows } = linesOf(bill)[by];
  const heads = [head, `${currency}/month`, "GB/month", "GB without price", "unknown"];
  return [
    `bill of ${observedAt}, window ${windowSeconds} s, as if a month were like it: ${totalText(bill)}`,
    rows.length === 0 ? "no traffic" : table(heads, rows),
    ...(leftOut > 0 && (by === "channel" || by === "workload")
      ? [`${leftOut} channels and workloads are left out (--limit)`]
      : []),
    ...pricesText(bill),
  ].join("\n\n");
}

function totalText({ total, headline }: Bill): string {
  const { channels, channelsUnknown } = total;
  return channelsUnknown === 0
    ? headline
    : `${headline}; ${channelsUnknown} of ${channels} channels are not, or not wholly, in it`;
}

function linesOf({
  channels,
  workloads,
  namespaces,
  zones,
  outside = [],
  destinations = [],
  monthSeconds,
}: Bill): Readonly<Record<BillSort, { readonly head: string; readonly rows: readonly (readonly Cell[])[] }>> {
  const cells = (name: string, line: BillAmount, unknown: string | null): readonly Cell[] => {
    const monthly = (bytesPerSecond: number): string => amount((bytesPerSecond * monthSeconds) / 1e9);
    const { bytesPerSecond, perMonth, unpricedBytesPerSecond: unpriced } = line;
    return [
      name,
      perMonth === null ? null : money(perMonth),
      bytesPerSecond === null ? null : monthly(bytesPerSecond),
      unpriced === 0 ? "" : monthly(unpriced),
      // A line with money and an unknown reason is partly unknown.
      unknown === null ? "" : perMonth === null ? unknown : `partly: ${unknown}`,
    ];
  };
  return {
    channel: {
      head: "channel",
      rows: [
        ...channels.map((line) => ({ ...line, to: nameOf(line.target) })),
        ...outside.map((line) => ({ ...line, to: `${line.destination} (outside)` })),
      ]
        .sort((a, b) => (b.perMonth ?? -1) - (a.perMonth ?? -1))
        .map((line) => cells(`${nameOf(line.source)} -> ${line.to}`, line, line.unknown)),
    },
    workload: { head: "workload", rows: workloads.map((line) => cells(nameOf(line), line, null)) },
    namespace: { head: "namespace", rows: namespaces.map((line) => cells(line.namespace, line, null)) },
    destination: {
      head: "destination outside",
      rows: destinations.map((line) => cells(line.destination, line, line.unknown)),
    },
    zones: {
      head: "caller's zone -> callee's zone",
      rows: zones.map((line) => cells(`${zoneText(line.from)} -> ${zoneText(line.to)}`, line, line.unknown)),
    },
  };
}

function pricesText({ prices }: Bill): string[] {
  if (prices.length === 0) return [];
  const rows = prices.map(({ provider, scope, from, to, out, in: arriving, per, currency, date, source }) => [
    [provider, scope, from, ...(to === null ? [] : ["to", to])].join(" "),
    `${out} + ${arriving} ${currency}/${per}`,
    date,
    source,
  ]);
  return [table(["price (sent + received)", "", "listed", "source"], rows)];
}

function nameOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

function zoneText({ provider, region, zone }: BillZone): string {
  return zone ?? `(no zone, ${region ?? provider})`;
}

function amount(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
