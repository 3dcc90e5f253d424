import type { Bill, BillHistory } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { bytesPerSecond, count, plural, UNKNOWN } from "../model/format.ts";
import { offLine, offState } from "../model/off.ts";
import { useJson } from "../parts/ask.ts";
import { Card, Empty, Lead, Loading, Name, Table, Tile, Trouble } from "../parts/common.tsx";
import { TimePlot } from "../parts/plot.tsx";
import { money, objectName, remarkText, zoneText } from "./bill-model.ts";
import { SavingsCard } from "./savings.tsx";

type Amount = Pick<Bill["zones"][number], "bytesPerSecond" | "perMonth" | "unpricedBytesPerSecond">;

export function BillPage(): VNode {
  const { data, failure, status } = useJson<Bill>("api/v1/graph/bill?limit=200");
  return (
    <>
      <div class="page-head">
        <h1>Bill</h1>
      </div>
      <Lead>
        What the traffic between workloads costs in a month, if nothing changes: who pays whom, and across
        which zones. The caller pays for both directions.
      </Lead>
      {data !== null ? (
        <Whole bill={data} />
      ) : (
        <Card title="Who pays whom" id="payers">
          {failure === null ? (
            <Loading lines={6} />
          ) : status === 404 ? (
            <Empty title="No bill is stored for this moment">Graphs are kept for an hour.</Empty>
          ) : (
            <Trouble title="The bill can't be shown">{failure.text.replace(/^no graphs: /, "")}.</Trouble>
          )}
        </Card>
      )}
    </>
  );
}

function NoPrices(): VNode {
  return (
    <p class="soft off">
      {offState("prices")}. {offLine("prices")}
    </p>
  );
}

function Whole({ bill }: { readonly bill: Bill }): VNode {
  const { headline, total, channels, namespaces, zones, destinations, currency, leftOut } = bill;
  if (total.channels === 0)
    return (
      <Card title="Who pays whom" id="payers">
        <Empty title="No traffic is counted">
          Each channel of a workflow appears here with its price. {offLine("traffic")}
        </Empty>
      </Card>
    );
  const costs = { title: `${currency} a month` };
  return (
    <>
      <p id="bill-headline">{headline}</p>
      {total.perMonth === null ? <NoPrices /> : null}
      <Tiles bill={bill} />
      <Past currency={currency} />
      <SavingsCard />
      <Card title="Who pays whom" id="payers">
        <Table
          id="channels"
          label="channels, the dearest first"
          columns={[
            { title: "Pays", isText: true },
            { title: "For traffic with", isText: true },
            costs,
            { title: "Traffic" },
            { title: "Remark", isText: true },
          ]}
          rows={channels.map((channel) => ({
            key: `${objectName(channel.source)}\n${objectName(channel.target)}`,
            cells: [
              <Name>{objectName(channel.source)}</Name>,
              <Name>{objectName(channel.target)}</Name>,
              ...amountCells(channel),
              remarkText(channel),
            ],
          }))}
        />
        {leftOut === 0 ? null : (
          <p class="soft">{plural(leftOut, "channel or workload")} more: isochrone bill.</p>
        )}
      </Card>
      <Card title="Namespaces" id="namespaces">
        <Table
          label="namespaces of the callers, the dearest first"
          columns={[{ title: "Namespace", isText: true }, costs, { title: "Traffic" }]}
          rows={namespaces.map((line) => ({
            key: line.namespace,
            cells: [<Name>{line.namespace}</Name>, ...amountCells(line)],
          }))}
        />
      </Card>
      {destinations === undefined ? null : <Outside destinations={destinations} costs={costs} />}
      <Card title="Zones" id="zones">
        <Table
          label="pairs of zones, the dearest first"
          columns={[
            { title: "Caller's zone", isText: true },
            { title: "Callee's zone", isText: true },
            costs,
            { title: "Traffic" },
            { title: "Remark", isText: true },
          ]}
          rows={zones.map((line) => ({
            key: JSON.stringify([line.from, line.to]),
            cells: [
              <Name>{zoneText(line.from)}</Name>,
              <Name>{zoneText(line.to)}</Name>,
              ...amountCells(line),
              remarkText(line),
            ],
          }))}
        />
      </Card>
    </>
  );
}

interface OutsideProps {
  readonly destinations: NonNullable<Bill["destinations"]>;
  readonly costs: { readonly title: string };
}

function Outside({ destinations, costs }: OutsideProps): VNode {
  return (
    <Card title="Outside of the cluster" id="destinations">
      <Table
        label="destinations outside of the cluster, the dearest first"
        columns={[
          { title: "Destination", isText: true },
          costs,
          { title: "Traffic" },
          { title: "Remark", isText: true },
        ]}
        rows={destinations.map((line) => ({
          key: line.destination,
          cells: [<Name>{line.destination}</Name>, ...amountCells(line), remarkText(line)],
        }))}
      />
    </Card>
  );
}

function amountCells({ perMonth, bytesPerSecond: bytes }: Amount): readonly string[] {
  return [money(perMonth), bytesPerSecond(bytes)];
}

function Tiles({ bill: { total, currency } }: { readonly bill: Bill }): VNode {
  const {
    perMonth,
    bytesPerSecond: bytes,
    unpricedBytesPerSecond: unpriced,
    channels,
    channelsUnknown,
  } = total;
  return (
    <dl class="tiles">
      <Tile
        label="Cost per month"
        value={perMonth === null ? "unknown" : `${money(perMonth)} ${currency}`}
        note={perMonth === null ? "nothing has a price: see docs/bill.md" : "at list prices or your own"}
      />
      <Tile label="Traffic" value={bytesPerSecond(bytes)} note={`${count(channels)} channels`} />
      <Tile
        label="Not in it"
        value={channelsUnknown === 0 ? "nothing" : plural(channelsUnknown, "channel")}
        note={unpriced === 0 ? undefined : `${bytesPerSecond(unpriced)} without a price`}
        {...(channelsUnknown === 0 ? {} : { state: "warn" as const })}
      />
    </dl>
  );
}

function Past({ currency }: { readonly currency: string }): VNode | null {
  const { data } = useJson<BillHistory>("api/v1/graph/bill/history", { isOfNow: true });
  const points = data?.points;
  const { times, lines } = useMemo(
    () => ({
      times: (points ?? []).map(({ at }) => Date.parse(at) / 1000),
      lines: [{ label: "Cost per month", values: (points ?? []).map(({ perMonth }) => perMonth) }],
    }),
    [points],
  );
  if (points === undefined || points.length < 2 || points.every(({ perMonth }) => perMonth === null))
    return null;
  const text = (value: number | null): string => (value === null ? UNKNOWN : money(value));
  return (
    <Card title={`Cost per month over the last hour, ${currency}`} id="past">
      <TimePlot label="cost per month over the last hour" times={times} lines={lines} text={text} />
    </Card>
  );
}
