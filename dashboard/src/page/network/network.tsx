import type { ClusterNode } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { downWords, staleAfterSeconds, zoneOf, type ClusterView } from "../model/cluster-view.ts";
import { age, bitsPerSecond, clockTime, count, cpu, memory, milliseconds, percent } from "../model/format.ts";
import { shortNames } from "../model/names.ts";
import { found } from "../model/search.ts";
import { Card, Empty, Lead, Name, Table, Tile } from "../parts/common.tsx";
import { cluster, digest, linkTo, nowMs, route } from "../state/store.ts";
import { measureOf } from "../model/grid.ts";
import { NetworkMap } from "./map/map.tsx";
import { Matrix } from "./matrix/matrix.tsx";
import { worstPairs, type Digest, type WorstPair } from "../model/summary.ts";

export function NetworkPage(props: { readonly view: "matrix" | "map"; readonly from: string | null }): VNode {
  const { view: which } = props;
  const view = cluster.value!;
  const { summary, worst, head } = digest.value!;
  const [find, setFind] = useState("");
  const isSought = which === "matrix" && find.trim() !== "";
  const sought = useMemo(() => (isSought ? soughtIn(view, find) : null), [view, find, isSought]);
  const nodes = useMemo(
    () => <Nodes head={sought?.nodes ?? head} size={sought?.size ?? view.size} isSought={sought !== null} />,
    [head, view.size, sought],
  );
  return (
    <>
      <div class="page-head">
        <h1>Network</h1>
        <nav class="tabs" aria-label="Views of the network">
          {(["matrix", "map"] as const).map((each) => (
            <a
              key={each}
              href={linkTo({ page: "network", view: each })}
              aria-current={each === which ? "page" : undefined}
            >
              {each === "matrix" ? "Matrix" : "Map"}
            </a>
          ))}
        </nav>
      </div>
      <Lead>
        How long a packet takes from one node to another and back, measured between the nodes themselves.
      </Lead>
      <Summary view={view} summary={summary} slowest={worst.find(({ isDead }) => !isDead)} />
      <Down />
      <div class="columns beside">
        <Card title={which === "matrix" ? MATRIX_TITLES[measureOf(route.value.view.quantity)] : "Map"}>
          {which === "matrix" ? <Matrix find={find} onFind={setFind} /> : <NetworkMap from={props.from} />}
        </Card>
        <Card title="Slowest pairs">
          <Worst worst={sought?.worst ?? worst} isSought={sought !== null} />
        </Card>
      </div>
      <Card title="Nodes">{nodes}</Card>
    </>
  );
}

function soughtIn(view: ClusterView, text: string) {
  const rows = new Set(
    found(
      view.nodes.map(({ name }) => name),
      text,
      view.size,
    ),
  );
  const nodes = [...rows].slice(0, MOST_NODES).map((row) => view.nodes[row]!);
  return { nodes, size: rows.size, worst: worstPairs(view, (row) => rows.has(row)) };
}

const MOST_NODES = 50;
const MATRIX_TITLES = {
  ms: "Latency between nodes",
  loss: "Loss between nodes",
  seconds: "Age of the figures between nodes",
} as const;

function Summary(
  props: { readonly view: ClusterView; readonly slowest: WorstPair | undefined } & Pick<Digest, "summary">,
): VNode {
  const { view, summary, slowest } = props;
  const { medianMs, worstMs, dead, lossy, stale, pairs, coverage } = summary;
  return (
    <dl class="tiles">
      <Tile label="Nodes" value={count(view.size)} note={`${view.areas.length} zones`} />
      <Tile
        label="Median round trip"
        value={milliseconds(medianMs)}
        note={
          slowest === undefined ? (
            "no pair answers"
          ) : (
            <a href={linkTo({ page: "pair", source: slowest.source, target: slowest.target })}>
              slowest pair {milliseconds(worstMs)}
            </a>
          )
        }
      />
      <Tile label="Pairs measured" value={count(pairs)} note={`${percent(coverage)} of all, by direction`} />
      <Tile
        label="No answer"
        value={count(dead)}
        note={dead === 1 ? "pair of nodes" : "pairs of nodes"}
        {...(dead > 0 ? { state: "bad" as const } : {})}
      />
      <Tile
        label="Losing packets"
        value={count(lossy)}
        note={`${lossy === 1 ? "pair" : "pairs"} above 0.1 %`}
        {...(lossy > 0 ? { state: "warn" as const } : {})}
      />
      <Tile
        label="Old figures"
        value={count(stale)}
        note={`${stale === 1 ? "pair" : "pairs"} older than ${age(staleAfterSeconds(view.windowSeconds))}`}
        {...(stale > 0 ? { state: "warn" as const } : {})}
      />
    </dl>
  );
}

const LONGEST_NAME = 24;

function Worst(props: { readonly worst: readonly WorstPair[]; readonly isSought: boolean }): VNode {
  const { nodes } = cluster.value!;
  const short = useMemo(
    () =>
      shortNames(
        nodes.map(({ name }) => name),
        LONGEST_NAME,
      ),
    [nodes],
  );
  if (props.worst.length === 0)
    return props.isSought ? (
      <Empty title="No measured pair has a node with that name" />
    ) : (
      <Empty title="No pair is measured yet">Probes answer within seconds of their start.</Empty>
    );
  return (
    <Table
      id="worst"
      label="slowest pairs"
      columns={[
        { title: "From", isText: true },
        { title: "To", isText: true },
        { title: "Median" },
        { title: "Back" },
        { title: "p99" },
        { title: "Loss" },
      ]}
      rows={props.worst.map(({ source, target, isDead, isBackDead, p50, backP50, p99, lossRatio }) => ({
        key: `${source}\n${target}`,
        class: isDead ? "bad" : "",
        cells: [
          <a href={linkTo({ page: "pair", source, target })}>
            <Name title={source}>{short.get(source) ?? source}</Name>
          </a>,
          <Name title={target}>{short.get(target) ?? target}</Name>,
          isDead ? "no answer" : milliseconds(p50),
          isBackDead ? "no answer" : milliseconds(backP50),
          milliseconds(p99),
          percent(lossRatio),
        ],
      }))}
    />
  );
}

function nodeState({ cause, since }: NonNullable<ClusterNode["down"]>): string {
  const when = since === null ? "" : ` since ${clockTime(since, nowMs.peek())}`;
  return `${cause === "silent" ? "silent" : "not ready"}${when}`;
}

function Down(): VNode | null {
  const { nodes } = cluster.value!;
  const words = nodes.flatMap((node) => downWords(node, (at) => clockTime(at, nowMs.peek())) ?? []);
  if (words.length === 0) return null;
  const shown = words.slice(0, MOST_DOWN);
  const more = words.length - shown.length;
  return (
    <p class="verdict bad" id="down">
      {shown.join(". ")}
      {more > 0 ? ` and ${count(more)} more` : ""}. Pairs of a node that is down are left out: its row and
      column are empty.
    </p>
  );
}
const MOST_DOWN = 3;

function Nodes(
  props: Pick<Digest, "head"> & Pick<ClusterView, "size"> & { readonly isSought: boolean },
): VNode {
  const { head, size, isSought } = props;
  if (size === 0 && isSought) return <Empty title="No node has that name" />;
  if (size === 0)
    return <Empty title="No node is known yet">The cluster's objects are still being read.</Empty>;
  return (
    <>
      <Table
        id="nodes"
        label="nodes"
        columns={[
          { title: "Node", isText: true },
          { title: "Zone", isText: true },
          { title: "Free CPU" },
          { title: "Free memory" },
          { title: "Sends" },
          { title: "State", isText: true },
        ]}
        rows={head.map((node) => ({
          key: node.name,
          cells: [
            <Name>{node.name}</Name>,
            <Name>{zoneOf(node)}</Name>,
            cpu(node.availableCpuMillicores),
            memory(node.availableMemoryBytes),
            bitsPerSecond(node.networkTransmitBitsPerSecond),
            node.down !== undefined ? (
              <span class="badge bad">{nodeState(node.down)}</span>
            ) : !node.ready ? (
              <span class="badge bad">not ready</span>
            ) : node.cordoned ? (
              <span class="badge warn">cordoned</span>
            ) : (
              "ready"
            ),
          ],
        }))}
      />
      {size > head.length ? (
        <p class="soft">
          The first {head.length} of {count(size)}.
        </p>
      ) : null}
    </>
  );
}
