import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { PAIR, rowOf, staleAfterSeconds, zoneOf, type ClusterView } from "../model/cluster-view.ts";
import { age, bitsPerSecond, count, cpu, memory, milliseconds, percent } from "../model/format.ts";
import { Card, Empty, Name, Table, Tile } from "../parts/common.tsx";
import { cluster, linkTo } from "../store.ts";
import { NetworkMap } from "./map.tsx";
import { Matrix } from "./matrix.tsx";
import { summaryOf, worstPairs } from "./summary.ts";

const MOST_ROWS = 15;
const MOST_NODES = 50;

export function NetworkPage({ view: which }: { readonly view: "matrix" | "map" }): VNode {
  const view = cluster.value!;
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
      <Summary view={view} />
      <div class="columns beside">
        <Card title={which === "matrix" ? "Latency between nodes" : "Map"}>
          {which === "matrix" ? <Matrix /> : <NetworkMap />}
        </Card>
        <Card title="Slowest pairs">
          <Worst view={view} />
        </Card>
      </div>
      <Card title="Nodes">
        <Nodes view={view} />
      </Card>
    </>
  );
}

function Summary({ view }: { readonly view: ClusterView }): VNode {
  const { medianMs, worstMs, dead, lossy, stale, pairs, coverage } = useMemo(() => summaryOf(view), [view]);
  return (
    <dl class="tiles">
      <Tile label="Nodes" value={count(view.nodes.length)} note={`${view.areas.length} zones`} />
      <Tile
        label="Median round trip"
        value={milliseconds(medianMs)}
        note={`slowest pair ${milliseconds(worstMs)}`}
      />
      <Tile label="Pairs measured" value={count(pairs)} note={`${percent(coverage)} of all`} />
      <Tile
        label="No answer"
        value={count(dead)}
        note="pairs"
        {...(dead > 0 ? { state: "bad" as const } : {})}
      />
      <Tile
        label="Losing packets"
        value={count(lossy)}
        note="pairs above 0.1 %"
        {...(lossy > 0 ? { state: "warn" as const } : {})}
      />
      <Tile
        label="Old figures"
        value={count(stale)}
        note={`older than ${age(staleAfterSeconds(view.windowSeconds))}`}
        {...(stale > 0 ? { state: "warn" as const } : {})}
      />
    </dl>
  );
}

function Worst({ view }: { readonly view: ClusterView }): VNode {
  const worst = useMemo(() => worstPairs(view, MOST_ROWS), [view]);
  if (worst.length === 0)
    return <Empty title="No pair is measured yet">Probes answer within seconds of their start.</Empty>;
  const { p50, p99, lossRatio } = view.pairs.figures;
  return (
    <Table
      id="worst"
      label="slowest pairs"
      columns={[
        { title: "From", isText: true },
        { title: "To", isText: true },
        { title: "Median" },
        { title: "p99" },
        { title: "Loss" },
      ]}
      rows={worst.map((at) => {
        const [source, target] = [
          view.nodes[rowOf(view.pairs, at)]!.name,
          view.nodes[view.pairs.column[at]!]!.name,
        ];
        const isDead = (view.pairs.flags[at]! & PAIR.dead) !== 0;
        return {
          key: `${source}\n${target}`,
          class: isDead ? "bad" : "",
          cells: [
            <a href={linkTo({ page: "pair", source, target })}>
              <Name>{source}</Name>
            </a>,
            <Name>{target}</Name>,
            isDead ? "no answer" : milliseconds(p50[at]),
            milliseconds(p99[at]),
            percent(lossRatio[at]),
          ],
        };
      })}
    />
  );
}

function Nodes({ view }: { readonly view: ClusterView }): VNode {
  const { nodes } = view;
  if (nodes.length === 0)
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
        rows={nodes.slice(0, MOST_NODES).map((node) => ({
          key: node.name,
          cells: [
            <Name>{node.name}</Name>,
            <Name>{zoneOf(node)}</Name>,
            cpu(node.availableCpuMillicores),
            memory(node.availableMemoryBytes),
            bitsPerSecond(node.networkTransmitBitsPerSecond),
            !node.ready ? (
              <span class="badge bad">not ready</span>
            ) : node.cordoned ? (
              <span class="badge warn">cordoned</span>
            ) : (
              "ready"
            ),
          ],
        }))}
      />
      {nodes.length > MOST_NODES ? (
        <p class="soft">
          The first {MOST_NODES} of {count(nodes.length)}.
        </p>
      ) : null}
    </>
  );
}
