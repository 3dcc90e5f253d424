import type { Health, ReplicaHealth } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { ClusterView } from "../model/cluster-view.ts";
import { age, clockTime, count, figure, percent, plural } from "../model/format.ts";
import { Card, Empty, Lead, Loading, Name, Table, Tile, Trouble } from "../parts/common.tsx";
import { useJson } from "../parts/ask.ts";
import { cluster, digest, nowMs } from "../state/store.ts";
import { cutsOf } from "./cuts.ts";
import {
  coverageNote,
  departureFindings,
  findingsOf,
  instrumentsOf,
  partitionsInWords,
  replicasOf,
  total,
  waitingOf,
  type Finding,
  type Instrument,
} from "./health-model.ts";

const MOST_NODES = 100;

export function HealthPage(): VNode {
  const view = cluster.value!;
  const { data: health, failure } = useJson<Health>("api/v1/health?replicas=all", { isOfNow: true });
  const instruments = useMemo(() => instrumentsOf(view), [view]);
  return (
    <>
      <div class="page-head">
        <h1>Health</h1>
      </div>
      <Lead>
        Whether the figures on the other pages can be trusted: how fresh they are, and who measures them.
      </Lead>
      {health === null ? (
        failure === null ? (
          <Loading lines={4} />
        ) : (
          <Trouble title="The aggregator says nothing of itself">{failure.text}</Trouble>
        )
      ) : (
        <Aggregator health={health} view={view} instruments={instruments} />
      )}
      <Card title="Instruments by node" id="instruments">
        <Instruments instruments={instruments} />
      </Card>
    </>
  );
}

interface AggregatorProps {
  readonly health: Health;
  readonly view: ClusterView;
  readonly instruments: readonly Instrument[];
}

function Aggregator({ health, view, instruments }: AggregatorProps): VNode {
  const { intake, replicas, probing, sizes } = health;
  const cuts = useMemo(() => cutsOf(view), [view]);
  const { coverage, pairs } = digest.value!.summary;
  const lost = intake.missing + intake.publisherDropped;
  const all = replicasOf(health);
  const lags = all.flatMap(({ lag }) => lag);
  const lag = waitingOf(all);
  return (
    <>
      <Findings
        findings={[
          ...findingsOf(health, instruments, view.windowSeconds, cuts),
          ...(health.departures === undefined
            ? []
            : departureFindings(health.departures, (at) => clockTime(at, nowMs.value))),
        ]}
      />
      <dl class="tiles four">
        <Tile
          label="Newest graph"
          value={age(health.graphAgeSeconds)}
          note={`version ${health.version ?? "–"}`}
        />
        <Tile
          label="Samples arrive after"
          value={health.sampleAgeSeconds === null ? "–" : `${figure(health.sampleAgeSeconds)} s`}
          note="mean since the start"
        />
        <Tile
          label="Coverage"
          value={percent(coverage)}
          note={coverageNote(pairs, probing.plannedPairs, instruments)}
        />
        <Tile label="Records" value={count(intake.records)} note={`${count(intake.points)} points`} />
        <Tile
          label="Lost on the way"
          value={count(lost)}
          note={`${count(intake.missing)} missing, ${count(intake.publisherDropped)} dropped`}
          {...(lost > 0 ? { state: "warn" as const } : {})}
        />
        <Tile label="Lag" value={count(lag)} note={`records over ${plural(lags.length, "partition")}`} />
        <Tile
          label="Replicas"
          value={count(replicas.live ?? 1)}
          note={
            replicas.isLeader === null
              ? "one alone"
              : `${replicas.replica} answers here and ${replicas.isLeader ? "leads" : "follows"}`
          }
        />
        <Tile
          label="In memory"
          value={count(sizes.series)}
          note={`series; ${count(sizes.links)} links, ${plural(sizes.eventClients, "reader")}`}
        />
      </dl>
      <div class="columns">
        <Card title="What was not used">
          <Reasons health={health} />
        </Card>
        <Card title="Partitions and clocks">
          <Lag lags={lags} clocks={health.clocks} />
        </Card>
      </div>
      {replicas.isLeader === null ? null : (
        <Card title="Replicas of the aggregator" id="replicas">
          <Replicas all={all} answering={replicas.replica} />
        </Card>
      )}
    </>
  );
}

function Findings({ findings }: { readonly findings: readonly Finding[] }): VNode {
  if (findings.length === 0 && cluster.value!.pairs.column.length === 0)
    return <p class="soft">Nothing is measured yet, so nothing can be said about it.</p>;
  if (findings.length === 0)
    return (
      <p class="verdict good" id="verdict">
        All is well: figures are fresh, no record was lost, every probe answers like before.
      </p>
    );
  return (
    <ul class="findings" id="verdict">
      {findings.map(({ level, title, remedy }) => (
        <li key={title} class={level}>
          <span class={`badge ${level}`}>{level === "bad" ? "broken" : "warning"}</span>
          <div>
            <strong>{title}</strong>
            <p>{remedy}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}

const WORDS: Readonly<Record<string, string>> = {
  tooLate: "older than the window",
  duplicates: "came again",
  deadLetters: "records that could not be used",
};

function Reasons({ health: { intake } }: { readonly health: Health }): VNode {
  const rows = [
    ["late and twice", "tooLate", intake.tooLate] as const,
    ["late and twice", "duplicates", intake.duplicates] as const,
    ["refused", "deadLetters", intake.deadLetters] as const,
    ...Object.entries(intake.refused).map(([reason, value]) => ["refused", reason, value] as const),
    ...Object.entries(intake.unused).map(([reason, value]) => ["of no use", reason, value] as const),
  ].filter(([, , value]) => value > 0);
  if (rows.length === 0)
    return (
      <Empty title="Nothing was refused">
        {intake.points === 0
          ? "No point has come yet."
          : `${count(intake.points)} points came, and all were in time, new and right.`}
      </Empty>
    );
  return (
    <Table
      label="what was not used, by reason"
      columns={[{ title: "What", isText: true }, { title: "Reason", isText: true }, { title: "Points" }]}
      rows={rows.map(([kind, reason, value]) => ({
        key: `${kind} ${reason}`,
        cells: [kind, WORDS[reason] ?? reason.replaceAll("_", " "), count(value)],
      }))}
    />
  );
}

function Replicas(props: {
  readonly all: readonly ReplicaHealth[];
  readonly answering: string | null;
}): VNode {
  return (
    <Table
      id="replicas"
      label="replicas and the partitions that each reads"
      columns={[
        { title: "Replica", isText: true },
        { title: "State", isText: true },
        { title: "Newest graph" },
        { title: "Partitions", isText: true },
        { title: "Waiting" },
      ]}
      rows={props.all.map((each) => ({
        key: each.replica,
        class: each.problem === null ? "" : "bad",
        cells: [
          <>
            <Name>{each.replica}</Name>
            {each.replica === props.answering ? <small class="soft"> answers here</small> : null}
          </>,
          <ReplicaState replica={each} />,
          each.problem === null ? age(each.graphAgeSeconds) : "–",
          <Partitions lag={each.lag} />,
          each.problem === null ? count(waitingOf([each])) : "–",
        ],
      }))}
    />
  );
}

function ReplicaState({ replica: { problem, ready, isLeader } }: { readonly replica: ReplicaHealth }): VNode {
  if (problem !== null) return <span class="badge bad">can't be asked: {problem}</span>;
  if (ready !== true) return <span class="badge warn">not ready</span>;
  return <span class="badge good">{isLeader === true ? "leads" : "follows"}</span>;
}

/** `probe 0, 3, 4; usage 1`. */
function Partitions({ lag }: { readonly lag: Health["replicas"]["lag"] }): VNode {
  if (lag.length === 0) return <span class="soft">–</span>;
  return <span>{partitionsInWords(lag)}</span>;
}

function Lag(props: { readonly lags: Health["replicas"]["lag"]; readonly clocks: Health["clocks"] }): VNode {
  const { lags, clocks } = props;
  const topics = new Map<string, { partitions: number; records: number }>();
  for (const { topic, records } of lags) {
    const seen = topics.get(topic) ?? { partitions: 0, records: 0 };
    topics.set(topic, { partitions: seen.partitions + 1, records: seen.records + records });
  }
  return (
    <>
      {topics.size === 0 ? (
        <Empty title="No partitions">
          Without Kafka records come straight to the aggregator: nothing waits anywhere.
        </Empty>
      ) : (
        <Table
          label="lag by topic"
          columns={[{ title: "Topic", isText: true }, { title: "Partitions" }, { title: "Waiting" }]}
          rows={[...topics].map(([topic, { partitions, records }]) => ({
            key: topic,
            cells: [<Name>{topic}</Name>, count(partitions), count(records)],
          }))}
        />
      )}
      {clocks.length === 0 ? null : (
        <Table
          label="clocks that are furthest off"
          columns={[{ title: "Source", isText: true }, { title: "Clock off by" }]}
          rows={clocks.slice(0, 5).map(({ source, skewSeconds }) => ({
            key: source,
            cells: [<Name>{source}</Name>, `${(skewSeconds * 1000).toFixed(0)} ms`],
          }))}
        />
      )}
    </>
  );
}

function Instruments({ instruments }: { readonly instruments: readonly Instrument[] }): VNode {
  if (instruments.length === 0)
    return <Empty title="No node is known yet">The cluster's objects are still being read.</Empty>;
  return (
    <>
      <Table
        id="instruments"
        label="instruments by node, the sick first"
        columns={[
          { title: "Node", isText: true },
          { title: "State", isText: true },
          { title: "Peers answering" },
          { title: "Newest answer" },
          { title: "Newest usage" },
        ]}
        rows={instruments
          .slice(0, MOST_NODES)
          .map(({ node, state, words, peers, answering, probeAgeSeconds, usageAgeSeconds }) => ({
            key: node,
            cells: [
              <Name>{node}</Name>,
              <span class={`badge ${state}`}>{words}</span>,
              peers === 0 ? "–" : `${answering} of ${peers}`,
              age(probeAgeSeconds),
              age(usageAgeSeconds),
            ],
          }))}
      />
      {instruments.length > MOST_NODES ? (
        <p class="soft">
          The first {MOST_NODES} of {count(instruments.length)}, the sick first:{" "}
          {count(total({ bad: instruments.filter(({ state }) => state !== "good").length }))}.
        </p>
      ) : null}
    </>
  );
}
