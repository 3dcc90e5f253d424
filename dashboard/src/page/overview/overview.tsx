import type { Health, StreamsSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { percentileLack } from "@isochrone/primitives";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { emulatorToken, hasEmulator } from "../state/emulator.ts";
import { findingsOf, instrumentsOf } from "../health/health-model.ts";
import { costBetween } from "../model/cluster-view.ts";
import { age, clockTime, count, milliseconds, percent, plural } from "../model/format.ts";
import { largestWorkflow, workflowPath } from "../model/largest.ts";
import { movesNow, whyNoProposal, type ProposalList } from "../model/plan.ts";
import { absentWorkloads, requestTime, withMoves, type RequestTime } from "../model/request-time.ts";
import { offLine } from "../model/off.ts";
import { useJson } from "../parts/ask.ts";
import { Card, Empty, Lead, Loading, Name, Tile } from "../parts/common.tsx";
import { StreamsSummary } from "../streams/streams.tsx";
import { cluster, digest, linkTo, moment, nowMs, workflows } from "../state/store.ts";
import type { WorstPair } from "../model/summary.ts";
import { MeasuredLatency, NetworkTime, type LabTimeline } from "./latency.tsx";
import { worstOf, type Concern, type Gain } from "./worst.ts";

/** Shows stream jobs if there is nothing else, otherwise requests. */
export function OverviewPage(): VNode {
  const isUnmeasured = cluster.value!.pairs.column.length === 0;
  const { data, failure } = useJson<StreamsSnapshot>(isUnmeasured ? "api/v1/streams" : null);
  if (!isUnmeasured || failure !== null) return <Requests />;
  if (data === null) return <Loading lines={6} />;
  return data.jobs.length === 0 ? <Requests /> : <Streams streams={data} />;
}

function Streams({ streams }: { readonly streams: StreamsSnapshot }): VNode {
  return (
    <>
      <div class="page-head">
        <h1>Overview</h1>
      </div>
      <Lead>
        How fast stream jobs are, which is the slowest, and how full links are. No probe measures links
        between nodes here.
      </Lead>
      <StreamsSummary {...streams} />
    </>
  );
}

function Requests(): VNode {
  const { chosen, timeline, workflow, proposals, time, absent, gain } = useRequests();
  return (
    <>
      <div class="page-head">
        <h1>Overview</h1>
      </div>
      <Lead>How long requests take, what stands in their way, and what a better placement would bring.</Lead>
      <dl class="tiles">
        {hasEmulator ? <EndToEnd timeline={timeline} /> : null}
        <TimeTile time={time} name={chosen} absent={absent} />
        <PlanTile gain={gain} isNow={moment.value === ""} proposals={proposals} />
        <FreshnessTile />
      </dl>
      <div class="columns beside">
        {hasEmulator ? (
          <Card title="End to end over time" id="latency">
            {timeline === null ? <Loading lines={5} /> : <MeasuredLatency timeline={timeline} />}
          </Card>
        ) : (
          <Card title="Network time per request over time" id="latency">
            {workflow === null ? <NoWorkflow /> : <NetworkTime workflow={workflow} />}
          </Card>
        )}
        <FirstThings gain={gain} timeline={timeline} />
      </div>
      {hasEmulator ? <TryThis /> : null}
    </>
  );
}

function useRequests() {
  const chosen = largestWorkflow(workflows.value?.workflows ?? []);
  const timeline = useJson<LabTimeline>(hasEmulator ? "lab/v1/timeline" : null, { isOfNow: true }).data;
  const workflow = useJson<WorkflowGraphSnapshot>(chosen === null ? null : workflowPath(chosen)).data;
  const proposals = useJson<ProposalList>(
    chosen === null || moment.value !== ""
      ? null
      : `api/v1/plans?kind=proposal&namespace=${encodeURIComponent(chosen.namespace)}&limit=200`,
    { isOfNow: true },
  );
  const view = cluster.value!;
  const costs = useMemo(() => costBetween(view), [view]);
  const time = useMemo(() => (workflow === null ? null : requestTime(workflow, costs)), [workflow, costs]);
  const gain = useMemo(
    () => gainOf(workflow, proposals.data, time, costs),
    [workflow, proposals.data, time, costs],
  );
  const absent = workflow === null ? [] : absentWorkloads(workflow, costs);
  return { chosen, timeline, workflow, proposals, time, absent, gain };
}

function FirstThings(props: { readonly gain: Gain | null; readonly timeline: LabTimeline | null }): VNode {
  const { gain, timeline } = props;
  const view = cluster.value!;
  const { data: health, failure } = useJson<Health>("api/v1/health", { isOfNow: true });
  const instruments = useMemo(() => instrumentsOf(view), [view]);
  const down = instruments.flatMap((each) => each.down ?? []);
  const findings = useMemo(() => {
    const others = instruments.filter((each) => each.down === null);
    return health === null ? [] : findingsOf(health, others, view.windowSeconds);
  }, [health, instruments, view]);
  const { summary, worst } = digest.value!;
  const newest = timeline?.points.at(-1);
  const requests = newest === undefined ? null : { answered: newest.requests, failed: newest.errors };
  return (
    <Card title="Look at this first" id="concerns">
      <Concerns
        concerns={worstOf({
          summary,
          worst,
          down,
          findings,
          departures: health?.departures ?? null,
          timeOf: (at) => clockTime(at, nowMs.value),
          gain,
          requests,
        })}
        isWaiting={health === null && failure === null}
      />
      {failure === null ? null : <p class="soft">The aggregator says nothing of itself: {failure.text}.</p>}
    </Card>
  );
}

function gainOf(
  workflow: WorkflowGraphSnapshot | null,
  list: ProposalList | null,
  today: RequestTime | null,
  costs: (source: string, target: string) => number,
): Gain | null {
  if (workflow === null || list === null || today === null) return null;
  const { namespace, name } = workflow;
  const proposal = list.plans.find((each) => each.workflow === `${namespace}/${name}`);
  if (proposal === undefined) return null;
  const now = movesNow(proposal);
  const moves = now.flatMap(({ name: pod, node }) => (node === null ? [] : [{ pod, node }]));
  const best = requestTime(withMoves(workflow, moves), costs);
  if (best === null) return null;
  return {
    workflow: { namespace, name },
    todayMs: today.chainMs,
    bestMs: best.chainMs,
    allTodayMs: today.totalMs,
    allBestMs: best.totalMs,
    moves: moves.length,
    blocked: proposal.pods.length - now.length,
    errorRatio: proposal.gain > 0 ? proposal.gainError / proposal.gain : 0,
  };
}

function EndToEnd({ timeline }: { readonly timeline: LabTimeline | null }): VNode {
  const newest = timeline?.points.at(-1);
  const note =
    newest === undefined
      ? "the load begins once all pods are ready"
      : `load generator, last ${timeline!.spanSeconds} s`;
  const failed = newest?.errors ?? 0;
  return (
    <>
      <Tile label="End to end, median" value={milliseconds(newest?.p50Ms)} note={note} />
      <Tile
        label="End to end, p95"
        value={milliseconds(newest?.p95Ms)}
        note={
          newest === undefined
            ? note
            : (percentileLack(0.95, newest.requests) ??
              `${plural(newest.requests, "request")}, ${failed} failed`)
        }
        {...(failed > 0 ? { state: "bad" as const } : {})}
      />
    </>
  );
}

function TimeTile(props: {
  readonly time: RequestTime | null;
  readonly absent: readonly string[];
  readonly name: { readonly namespace: string; readonly name: string } | null;
}): VNode {
  const { time, name, absent } = props;
  if (name === null || time === null)
    return (
      <Tile
        label="Network time per request"
        value="–"
        note={
          name === null
            ? "no workflow with traffic is known"
            : absent.length > 0
              ? `not known: ${absent.slice(0, 3).join(", ")} ${absent.length === 1 ? "has" : "have"} no running pod`
              : "no counted requests on known ways"
        }
      />
    );
  const left = time.leftOut === 0 ? "" : `; ${plural(time.leftOut, "channel")} unknown`;
  return (
    <Tile
      label="Network time per request"
      value={time.totalMs === Number.POSITIVE_INFINITY ? "unreachable" : milliseconds(time.chainMs)}
      note={
        <>
          slowest chain of calls of{" "}
          <a href={linkTo({ page: "workflows", workflow: name })}>
            <Name>{name.name}</Name>
          </a>
          ; all calls together {milliseconds(time.totalMs)}
          {left}
        </>
      }
    />
  );
}

function PlanTile(props: {
  readonly gain: Gain | null;
  readonly isNow: boolean;
  readonly proposals: { readonly data: ProposalList | null; readonly failure: object | null };
}): VNode {
  const { gain, isNow, proposals } = props;
  if (gain === null) {
    const why = isNow ? whyNoProposal(proposals) : "is of now only";
    return <Tile label="The best plan would save" value="–" note={why} />;
  }
  const { moves, blocked, errorRatio } = gain;
  const later = blocked === 0 ? "" : `; ${plural(blocked, "move")} can't be made now`;
  const ofChain = gain.todayMs - gain.bestMs;
  const isOfChain = ofChain > 0;
  const savedMs = isOfChain ? ofChain : gain.allTodayMs - gain.allBestMs;
  const what = isOfChain ? "of the slowest chain of calls" : "of all calls of a request together";
  if (moves === 0 || !(savedMs > 0))
    return (
      <Tile label="The best plan would save" value="nothing" note={`no move is worth an eviction${later}`} />
    );
  return (
    <Tile
      label="The best plan would save"
      value={milliseconds(savedMs)}
      note={
        <>
          ± {milliseconds(errorRatio * savedMs)} {what};{" "}
          <a href={linkTo({ page: "workflows", workflow: gain.workflow })}>{plural(moves, "move")}</a>
          {later}
        </>
      }
    />
  );
}

function FreshnessTile(): VNode {
  const view = cluster.value!;
  const { summary } = digest.value!;
  const seconds = (nowMs.value - Date.parse(view.observedAt)) / 1000;
  return (
    <Tile
      label="Freshness"
      value={seconds < 1 ? "now" : `${age(seconds)} old`}
      note={`graph of ${count(view.size)} nodes; ${percent(summary.coverage)} of the pairs measured`}
      {...(moment.value === "" && seconds > 30 ? { state: "bad" as const } : {})}
    />
  );
}

function NoWorkflow(): VNode {
  return (
    <Empty title="No workflow with traffic is known">
      Network time per request appears with the first counted requests of a workflow. Latency end to end isn't
      in the graphs: nothing measures it at the workflow's entry. {offLine("traffic")}
    </Empty>
  );
}

function Concerns(props: {
  readonly concerns: readonly Concern[];
  /** True until the aggregator's own state is loaded. */
  readonly isWaiting: boolean;
}): VNode {
  const { concerns, isWaiting } = props;
  if (concerns.length === 0 && isWaiting) return <Loading lines={3} />;
  if (concerns.length === 0 && cluster.value!.pairs.column.length === 0)
    return <p class="soft">Nothing is measured yet, so nothing can be said about it.</p>;
  if (concerns.length === 0)
    return (
      <p class="verdict good">
        Nothing is wrong: every measured pair answers like before, figures are fresh, and no plan would bring
        much.
      </p>
    );
  return (
    <ol class="concerns">
      {concerns.map(({ level, title, next, to }) => (
        <li key={title} class={level}>
          <a href={linkTo(to.place, to.view)}>{title}</a>
          <p>{next}</p>
        </li>
      ))}
    </ol>
  );
}

function TryThis(): VNode {
  const slowest = digest.value!.worst.find(({ isDead }) => !isDead);
  return (
    <>
      {slowest === undefined ? null : <TryLink {...slowest} />}
      <p class="soft" id="own">
        Your own application and network: <code>{OWN_COMMAND}</code>. <code>docs/try-your-app.md</code> has
        both files.
      </p>
    </>
  );
}

/** Uses another port, since this cluster may have the default one. */
const OWN_COMMAND = "npx isochrone up --manifest shop.yaml --matrix network.csv --port 9000";

function TryLink({ source, target }: Pick<WorstPair, "source" | "target">): VNode {
  return (
    <p class="soft" id="try">
      This network is emulated. Slow, cut or heal a link of it on the page of its pair, such as{" "}
      <a href={linkTo({ page: "pair", source, target })}>
        <Name>{source}</Name> → <Name>{target}</Name>
      </a>
      {emulatorToken.value === "" ? ", with the address that the terminal shows" : ""}, and see here what it
      does to requests.
    </p>
  );
}
