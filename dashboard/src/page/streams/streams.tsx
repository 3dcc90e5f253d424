import type { StreamJobView, StreamsSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { offLine, offState } from "../model/off.ts";
import { useJson } from "../parts/ask.ts";
import { Card, Empty, Lead, Loading, Name, Table, Tile, Trouble } from "../parts/common.tsx";
import { bitsPerSecond, count, figure, percent, UNKNOWN } from "../model/format.ts";
import { linkTo, moment } from "../state/store.ts";
import { LimitOrReason, Phase } from "./job-state.tsx";
import { JobView } from "./job.tsx";
import { Links } from "./links.tsx";
import { inOrder, nameOf, paceOf, slowestOf, totals, useOf } from "./streams-model.ts";

export function StreamsPage(props: {
  readonly job: { readonly namespace: string; readonly name: string } | null;
}): VNode {
  const { data, failure, status } = useJson<StreamsSnapshot>("api/v1/streams");
  const { job } = props;
  if (data !== null && job !== null)
    return (
      <JobView job={data.jobs.find((each) => nameOf(each) === nameOf(job)) ?? null} name={nameOf(job)} />
    );
  return (
    <>
      <div class="page-head">
        <h1>Streams</h1>
      </div>
      <Lead>
        Jobs whose frames pass one task after the other: how many frames per second each makes, the task or
        link that limits it, and how full links are of their flows.
      </Lead>
      {data !== null ? (
        <StreamsSummary {...data} />
      ) : failure === null ? (
        <Card title="Jobs" id="jobs">
          <Loading lines={6} />
        </Card>
      ) : (
        <Card title="Jobs" id="jobs">
          <NotThere status={status} text={failure.text.replace(/^no graphs: /, "")} />
        </Card>
      )}
    </>
  );
}

function NotThere({ status, text }: { readonly status: number | null; readonly text: string }): VNode {
  if (status === 404)
    return <Empty title="No streams are stored for this moment">They are kept for an hour.</Empty>;
  if (status !== 503) return <Trouble title="Streams can't be shown">{text}.</Trouble>;
  return (
    <Empty title={offState("streams")}>
      {offLine("streams")} The server says: {text}.
    </Empty>
  );
}

export function StreamsSummary({ jobs, links }: StreamsSnapshot): VNode {
  return (
    <>
      {jobs.length === 0 ? null : <Tiles jobs={jobs} links={links} />}
      <Card title="Jobs" id="jobs">
        {jobs.length === 0 ? (
          <Empty title={moment.value === "" ? "There is no stream job" : "There was no stream job"}>
            A StreamJob that is created in the cluster appears here with what it waits for.
          </Empty>
        ) : (
          <Jobs jobs={jobs} />
        )}
      </Card>
      <Card title="Links by use" id="links">
        {links.length === 0 ? (
          <Empty title="No flow crosses a link">
            Flows are planned when tasks of a job are on different nodes and have addresses.
          </Empty>
        ) : (
          <Links links={links} />
        )}
      </Card>
    </>
  );
}

function Tiles({ jobs, links }: Pick<StreamsSnapshot, "jobs" | "links">): VNode {
  const { predicted, measured, promises, broken } = totals(jobs);
  const running = jobs.filter(({ phase }) => phase === "Running").length;
  const waiting = jobs.filter(({ framesPerSecond }) => framesPerSecond === null).length;
  const [fullest] = links;
  const use = fullest === undefined ? null : useOf(fullest);
  const slowest = slowestOf(jobs);
  return (
    <dl class="tiles">
      <Tile
        label="Jobs"
        value={count(jobs.length)}
        note={`${count(running)} running, ${count(waiting)} without nodes`}
        {...(waiting > 0 ? { state: "warn" as const } : {})}
      />
      <Tile
        label="Frames per second"
        value={figure(measured ?? predicted)}
        note={measured === null ? "predicted, of all jobs" : `of all jobs; ${figure(predicted)} predicted`}
      />
      <Tile
        label="Promises"
        value={promises === 0 ? "none" : `${count(promises - broken)} of ${count(promises)}`}
        note={promises === 0 ? "no job has a minThroughput" : "kept"}
        {...(broken > 0 ? { state: "bad" as const } : {})}
      />
      <Tile
        label="Slowest job"
        value={slowest === null ? UNKNOWN : `${figure(paceOf(slowest))}/s`}
        note={slowest === null ? "no job has a known pace" : <>frames, {jobLink(slowest)}</>}
      />
      <Tile
        label="Fullest link"
        value={use === null ? UNKNOWN : percent(use.planned)}
        note={
          fullest === undefined || fullest.capacityBitsPerSecond === null
            ? "no capacity is known"
            : `${fullest.source} → ${fullest.target}, ${bitsPerSecond(fullest.capacityBitsPerSecond)}`
        }
      />
    </dl>
  );
}

function Jobs({ jobs }: { readonly jobs: readonly StreamJobView[] }): VNode {
  return (
    <Table
      id="stream-jobs"
      label="stream jobs, those with trouble first"
      columns={[
        { title: "Job", isText: true },
        { title: "Phase", isText: true },
        { title: "Frames/s" },
        { title: "Measured" },
        { title: "Promised" },
        { title: "Limited by", isText: true },
        { title: "Nodes", isText: true },
      ]}
      rows={inOrder(jobs).map((job) => ({ key: nameOf(job), cells: cellsOf(job) }))}
    />
  );
}

function jobLink(job: StreamJobView): VNode {
  const { namespace, name } = job;
  return (
    <a href={linkTo({ page: "streams", job: { namespace, name } })}>
      <Name>{nameOf(job)}</Name>
    </a>
  );
}

function cellsOf(job: StreamJobView): readonly (VNode | string)[] {
  const { framesPerSecond, measuredFramesPerSecond, minThroughput, tasks } = job;
  return [
    jobLink(job),
    <Phase job={job} />,
    figure(framesPerSecond),
    figure(measuredFramesPerSecond),
    figure(minThroughput),
    <LimitOrReason job={job} />,
    <Name>{[...new Set(tasks.map(({ node }) => node))].join(", ") || UNKNOWN}</Name>,
  ];
}
