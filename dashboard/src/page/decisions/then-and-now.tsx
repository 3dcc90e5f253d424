import type { Candidate, Decision, Rtt } from "@isochrone/topology";
import type { VNode } from "preact";
import { count, figure, milliseconds } from "../model/format.ts";
import { Card, Empty, Name, Table, Tile } from "../parts/common.tsx";
import { linkTo } from "../state/store.ts";
import { comparedNodes, isOther, nodesOf, pairOf, peersOf, type ComparedNode } from "./compare.ts";

interface Props {
  readonly decision: Decision;
}

const MOST_NODES = 60;

export function Figures({ decision }: Props): VNode {
  const { binding, best, now, candidates, asked = candidates.length } = decision;
  const home = binding?.node ?? null;
  const times = new Map(
    nodesOf(decision).map((row) => [row.name, row.current?.networkMs ?? row.previous?.networkMs ?? null]),
  );
  const timeOf = (name: string | null): number | null => times.get(name ?? "") ?? null;
  const current = now === undefined ? best : now.best;
  const feasible = candidates.filter((candidate) => candidate.feasible).length;
  return (
    <dl class="tiles">
      <OwnTime home={home} best={best} ms={timeOf(home ?? best)} bestMs={timeOf(current)} />
      <Tile
        label={now === undefined ? "Best node" : "Best node now"}
        value={nameOf(current)}
        note={current === null ? "no node is feasible" : `${milliseconds(timeOf(current))} per request`}
      />
      {now === undefined ? null : (
        <Tile
          label="Best node then"
          value={nameOf(best)}
          note={best === now.best ? "the same as now" : "another one than now"}
        />
      )}
      <Tile label="Nodes that could take it" value={count(feasible)} note={`of ${count(asked)}`} />
    </dl>
  );
}

const nameOf = (node: string | null): VNode => (node === null ? <span>none</span> : <Name>{node}</Name>);

function OwnTime(props: {
  readonly home: string | null;
  readonly best: string | null;
  readonly ms: number | null;
  readonly bestMs: number | null;
}): VNode {
  const { home, best, ms, bestMs } = props;
  const where =
    home === null ? (best === null ? "no node" : `on ${best}, the best node`) : `on ${home}, where it runs`;
  const isWorse = home !== null && isOther(bestMs, ms) && (ms ?? 0) > (bestMs ?? 0);
  return (
    <Tile
      label="Network time per request"
      value={milliseconds(ms)}
      note={where}
      {...(isWorse ? { state: "warn" as const } : {})}
    />
  );
}

export function Since({ decision: { now } }: Props): VNode | null {
  if (now === undefined) return null;
  return (
    <Card title="Asked again now" class="why" id="since">
      {now.changes.length === 0 ? (
        <p>Nothing that decides has changed: the scorer gives the same answer with the graphs of now.</p>
      ) : (
        <ul>
          {now.changes.map((change) => (
            <li key={change}>{change}</li>
          ))}
        </ul>
      )}
    </Card>
  );
}

export function Peers({ decision }: Props): VNode {
  const peers = peersOf(decision);
  const nodes = comparedNodes(decision);
  const home = decision.binding?.node ?? null;
  return (
    <Card title="Who it talks to" id="talks">
      {peers.length === 0 ? (
        <Empty title="No peer is known">
          None of the pods that it exchanges requests with has a node, or its workload has no channel yet.
        </Empty>
      ) : (
        <>
          <p class="soft">
            Round trips {decision.now === undefined ? "then" : "now"}, by the node on which the pod would be;
            where another one was measured then, that stands beside it.
          </p>
          <Table
            id="peers"
            label="peers and their distance"
            columns={[
              { title: "Peer", isText: true },
              { title: "On", isText: true },
              { title: "Requests/s" },
              ...nodes.map((name) => ({ title: name === home ? `${name} (here)` : name })),
            ]}
            rows={peers.map(({ peer, before }) => ({
              key: `${peer.calling ? ">" : "<"} ${peer.workload} ${peer.node}`,
              cells: [
                <span>
                  {peer.calling ? "calls" : "is called by"} <Name>{peer.workload}</Name>
                  {peer.pods > 1 ? <small class="soft"> {count(peer.pods)} pods</small> : null}
                </span>,
                <Name>{peer.node}</Name>,
                figure(peer.requestsPerSecond),
                ...nodes.map((name) => {
                  const isHere = name === peer.node;
                  const rtt = (
                    <RoundTrip now={peer.rttMs[name] ?? null} then={before?.[name]} isHere={isHere} />
                  );
                  return isHere ? rtt : <a href={linkTo({ page: "pair", ...pairOf(peer, name) })}>{rtt}</a>;
                }),
              ],
            }))}
          />
        </>
      )}
    </Card>
  );
}

function RoundTrip(props: {
  readonly now: Rtt;
  readonly then: Rtt | undefined;
  readonly isHere: boolean;
}): VNode {
  return (
    <>
      {wordsOf(props.now, props.isHere)}
      {isOther(props.then, props.now) ? (
        <small class="soft note">was {wordsOf(props.then ?? null, false)}</small>
      ) : null}
    </>
  );
}

function wordsOf(rtt: Rtt, isHere: boolean): string {
  if (rtt === "unreachable") return rtt;
  return isHere && rtt === 0 ? "same node" : milliseconds(rtt);
}

export function Nodes({ decision }: Props): VNode {
  const rows = nodesOf(decision);
  const { now } = decision;
  const both = now !== undefined;
  return (
    <Card title="Nodes compared" id="nodes-compared">
      {rows.length === 0 ? (
        <Empty title="No node was considered" />
      ) : (
        <Table
          id="candidates"
          label="candidates by score"
          columns={[
            { title: "Node", isText: true },
            { title: both ? "Network time then" : "Network time" },
            ...(both ? [{ title: "Network time now" }] : []),
            { title: both ? "Score then" : "Score" },
            ...(both ? [{ title: "Score now" }] : []),
          ]}
          rows={rows.slice(0, MOST_NODES).map((row) => ({
            key: row.name,
            class: row.previous?.feasible === false ? "off" : "",
            cells: [
              <>
                <Name>{row.name}</Name> <Remarks row={row} />
              </>,
              milliseconds(row.previous?.networkMs),
              ...(both ? [milliseconds(row.current?.networkMs)] : []),
              scoreOf(row.previous),
              ...(both ? [scoreOf(row.current)] : []),
            ],
          }))}
        />
      )}
      {rows.length > MOST_NODES ? (
        <p class="soft">
          The best {MOST_NODES} of {count(rows.length)}.
        </p>
      ) : null}
    </Card>
  );
}

const scoreOf = (candidate: Candidate | null): string =>
  candidate === null || !candidate.feasible ? "–" : figure(candidate.score);

function Remarks({
  row: { isHome, isBest, isBestNow, previous, current },
}: {
  readonly row: ComparedNode;
}): VNode {
  const refused = [previous, current].find((each) => each?.feasible === false)?.reason ?? null;
  return (
    <>
      {isHome ? <span class="badge good">runs here</span> : null}
      {isBest ? <span class="badge plan">best then</span> : null}
      {isBestNow ? <span class="badge plan">best now</span> : null}
      {refused === null ? null : <small class="soft note">{refused}</small>}
    </>
  );
}
