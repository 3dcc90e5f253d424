import type { StreamJobView } from "@isochrone/topology";
import type { VNode } from "preact";
import { Card, Empty, Name, Table, Tile } from "../parts/common.tsx";
import { bitsPerSecond, figure, memory, UNKNOWN } from "../model/format.ts";
import { linkTo } from "../state/store.ts";
import { LimitOrReason, Phase } from "./job-state.tsx";

export function JobView({ job, name }: { readonly job: StreamJobView | null; readonly name: string }): VNode {
  return (
    <>
      <div class="page-head">
        <p class="crumbs">
          <a href={linkTo({ page: "streams", job: null })}>Streams</a>
        </p>
        <h1>
          <Name>{name}</Name>
        </h1>
      </div>
      {job === null ? (
        <Empty title="There is no such job">
          It was deleted, or this moment is from before it was created.
        </Empty>
      ) : (
        <Job job={job} />
      )}
    </>
  );
}

function Job({ job }: { readonly job: StreamJobView }): VNode {
  const { framesPerSecond, measuredFramesPerSecond, minThroughput, tasks, flows } = job;
  return (
    <>
      <dl class="tiles">
        <Tile label="Phase" value={<Phase job={job} />} />
        <Tile label="Frames per second" value={figure(framesPerSecond)} note="predicted" />
        <Tile
          label="Measured"
          value={figure(measuredFramesPerSecond)}
          note="by what its slowest flow has sent"
        />
        <Tile
          label="Promised"
          value={minThroughput === null ? "none" : figure(minThroughput)}
          note="frames per second at least"
        />
      </dl>
      <Card title="Limited by" id="limit">
        <p>
          <LimitOrReason job={job} />
        </p>
      </Card>
      <Card title="Tasks" id="tasks">
        {tasks.length === 0 ? (
          <Empty title="No task has a node" />
        ) : (
          <Table
            id="tasks"
            label="tasks"
            columns={[
              { title: "Task", isText: true },
              { title: "Node", isText: true },
              { title: "Seconds/frame" },
              { title: "Frames/s at most" },
            ]}
            rows={tasks.map(({ name, node, secondsPerFrame }) => ({
              key: name,
              cells: [
                <Name>{name}</Name>,
                <Name>{node}</Name>,
                figure(secondsPerFrame),
                figure(secondsPerFrame === null ? null : 1 / secondsPerFrame),
              ],
            }))}
          />
        )}
      </Card>
      <Card title="Flows" id="flows">
        {flows.length === 0 ? (
          <Empty title="Its frames stay on one node" />
        ) : (
          <Table
            id="flows"
            label="flows"
            columns={[
              { title: "Flow", isText: true },
              { title: "Per frame" },
              { title: "Planned" },
              { title: "Sent" },
              { title: "Way", isText: true },
            ]}
            rows={flows.map((flow) => ({
              key: `${flow.from ?? ""} ${flow.to}`,
              cells: [
                <Name>{`${flow.from ?? "source"} → ${flow.to}`}</Name>,
                flow.bytesPerFrame === 0 ? UNKNOWN : memory(flow.bytesPerFrame),
                bitsPerSecond(flow.bitsPerSecond),
                bitsPerSecond(flow.sentBitsPerSecond),
                <Name>{flow.route.join(" → ")}</Name>,
              ],
            }))}
          />
        )}
      </Card>
    </>
  );
}
