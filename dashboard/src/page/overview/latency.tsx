import type { DecisionList, LinkHistory, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { clockTime, plural } from "../model/format.ts";
import { useJson } from "../parts/ask.ts";
import { Empty, Loading } from "../parts/common.tsx";
import { signOf } from "../parts/plot-marks.ts";
import { TimePlot } from "../parts/plot.tsx";
import { getJson } from "../state/session.ts";
import { nowMs } from "../state/store.ts";
import { marksOf, moveMarksOf, type LabMark, type Mark } from "./marks.ts";
import { pastOf, waysOf } from "./past.ts";

export interface LabTimeline {
  readonly spanSeconds: number;
  readonly points: readonly {
    readonly at: string;
    readonly requests: number;
    readonly errors: number;
    readonly p50Ms: number | null;
    readonly p95Ms: number | null;
  }[];
  readonly marks: readonly LabMark[];
}

const HEIGHT = 260;
const MOST_MARKS = 6;

export function MeasuredLatency({ timeline }: { readonly timeline: LabTimeline }): VNode {
  const { points, marks: labMarks, spanSeconds } = timeline;
  const times = useMemo(() => points.map(({ at }) => Date.parse(at) / 1000), [points]);
  const lines = useMemo(
    () => [
      { label: "median", values: points.map(({ p50Ms }) => p50Ms) },
      { label: "p95", values: points.map(({ p95Ms }) => p95Ms) },
    ],
    [points],
  );
  const evictions = useEvictions("");
  // The timeline has every moved pod, but no failed move.
  const marks = useMemo(() => {
    const failed = moveMarksOf(evictions).filter(({ kind }) => kind === "fault");
    return [...marksOf(labMarks), ...failed].sort((a, b) => a.at - b.at);
  }, [evictions, labMarks]);
  if (times.length < 2)
    return (
      <Empty title="No requests yet">
        The load begins once all pods of the workflow are ready; a line needs two points.
      </Empty>
    );
  return (
    <>
      <TimePlot
        label="Latency of requests end to end over time"
        times={times}
        lines={lines}
        marks={marks}
        height={HEIGHT}
      />
      <p class="soft">
        Measured by the load generator at the workflow's entry; each point is of the last {spanSeconds} s.
      </p>
      <Happened marks={marks} />
    </>
  );
}

const NO_DECISIONS: DecisionList["decisions"] = [];

function useEvictions(filter: string): DecisionList["decisions"] {
  const path = `api/v1/decisions?kind=eviction${filter}&limit=200`;
  return useJson<DecisionList>(path, { isOfNow: true }).data?.decisions ?? NO_DECISIONS;
}

const MOST_WAYS = 24;

export function NetworkTime({ workflow }: { readonly workflow: WorkflowGraphSnapshot }): VNode {
  const all = useMemo(() => waysOf(workflow), [workflow]);
  const ways = all.slice(0, MOST_WAYS);
  const histories = useHistories(ways.map(({ source, target }) => pairPath(source, target)));
  const past = useMemo(() => pastOf(ways, histories), [histories, workflow]);
  const lines = useMemo(() => [{ label: "all calls together", values: past.totalMs }], [past]);
  const evictions = useEvictions(`&namespace=${encodeURIComponent(workflow.namespace)}`);
  const marks = useMemo(() => {
    const name = `${workflow.namespace}/${workflow.name}`;
    const moves = moveMarksOf(evictions.filter((decision) => decision.workflow === name));
    return [...past.marks, ...moves].sort((a, b) => a.at - b.at);
  }, [evictions, past, workflow]);
  if (ways.length === 0)
    return (
      <Empty title="Requests of this workflow cross no network">
        Either all its pods are on one node, or nobody counts their requests.
      </Empty>
    );
  if (histories.every((history) => history === null)) return <Loading lines={5} />;
  if (past.times.length < 2)
    return <Empty title="No history yet">A point is kept every ten seconds; a line needs two.</Empty>;
  return (
    <>
      <TimePlot
        label="Network time per request over the kept history"
        times={past.times}
        lines={lines}
        marks={marks}
        height={HEIGHT}
      />
      <p class="soft">
        By the graphs, for today's placement: the medians of {plural(ways.length, "way")} between nodes, as
        often as a request goes them, one after the other
        {all.length > ways.length ? `; ${all.length - ways.length} rarer ones are left out` : ""}. Latency end
        to end isn't known here: nothing measures it at the entry.
      </p>
      <Happened marks={marks} />
    </>
  );
}

function Happened({ marks }: { readonly marks: readonly Mark[] }): VNode | null {
  if (marks.length === 0) return null;
  return (
    <ul class="happened" aria-label="What happened, the newest first">
      {marks
        .toReversed()
        .slice(0, MOST_MARKS)
        .map(({ at, kind, text }) => (
          <li key={`${at} ${text}`} class={kind}>
            <i aria-hidden="true">{signOf(kind)}</i>
            <time dateTime={new Date(at * 1000).toISOString()}>{clockTime(at * 1000, nowMs.value)}</time>
            <bdi>{text}</bdi>
          </li>
        ))}
    </ul>
  );
}

const pairPath = (source: string, target: string): string =>
  `api/v1/graph/history/link?source=${encodeURIComponent(source)}&target=${encodeURIComponent(target)}`;

const HISTORY_MS = 10_000;

/** Fetched in sequence and refreshed every ten seconds; null: not loaded or unavailable. */
function useHistories(paths: readonly string[]): readonly (LinkHistory | null)[] {
  const key = paths.join("\n");
  const [kept, keep] = useState<{
    readonly key: string;
    readonly histories: readonly (LinkHistory | null)[];
  }>({ key, histories: [] });
  useEffect(() => {
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      const histories: (LinkHistory | null)[] = [];
      for (const path of key === "" ? [] : key.split("\n"))
        histories.push(await getJson<LinkHistory>(path, gone.signal).catch(() => null));
      if (gone.signal.aborted) return;
      keep({ key, histories });
      timer = setTimeout(() => void read(), HISTORY_MS);
    };
    void read();
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [key]);
  return useMemo(() => (kept.key === key ? kept.histories : paths.map(() => null)), [kept, key]);
}
