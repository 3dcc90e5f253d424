import type { VNode } from "preact";
import { bytesPerSecond, count, figure } from "../model/format.ts";
import type { Plan } from "../model/plan.ts";
import { Card, Name, Table, Tile, When } from "../parts/common.tsx";
import { linkTo } from "../state/store.ts";
import { onTheWay } from "../model/costs.ts";
import { workflowLink } from "../workflows/workflows.tsx";

const underWay = (cost: number | null | undefined): string =>
  cost === null || cost === undefined ? "–" : bytesPerSecond(onTheWay(cost)).replace("B/s", "B");

export function PlanView({ plan, back }: { readonly plan: Plan; readonly back: VNode }): VNode {
  const link = workflowLink(plan.workflow);
  return (
    <>
      <div class="page-head">
        {back}
        <h1>
          Plan for{" "}
          {link === null ? (
            <Name>{plan.workflow}</Name>
          ) : (
            <a href={link}>
              <Name>{plan.workflow}</Name>
            </a>
          )}
        </h1>
        <span class="badge plan">plan</span>
      </div>
      <Card title="Why" class="why">
        <p class="lead">{plan.explanation[0] ?? "No reason was given."}</p>
        <ul>
          {plan.explanation.slice(1).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
        <p class="soft">
          <When at={plan.at} />
          {plan.replica === undefined ? null : (
            <>
              {" "}
              by replica <Name>{plan.replica}</Name>
            </>
          )}
        </p>
      </Card>
      <dl class="tiles">
        <Tile label="Network cost" value={underWay(plan.cost?.network)} note="under way at any time" />
        <Tile label="Cost of load" value={underWay(plan.cost?.pressure)} note="in the same unit" />
        <Tile label="No plan costs less than" value={underWay(plan.lowerBound)} />
        <Tile
          label="Planned in"
          value={`${figure(plan.durationMs)} ms`}
          note={`${count(plan.pods.length)} pods`}
        />
      </dl>
      <Card title="Pods">
        <Table
          label="pods of the plan"
          columns={[
            { title: "Pod", isText: true },
            { title: "Workload", isText: true },
            { title: "Node", isText: true },
          ]}
          rows={plan.pods.map(({ name, workload, node, reason, decision }) => ({
            key: name,
            cells: [
              <a href={linkTo({ page: "decisions", kind: "decision", id: decision })}>
                <Name>{name}</Name>
              </a>,
              <Name>{workload ?? "–"}</Name>,
              node === null ? <span class="soft">{reason ?? "nowhere"}</span> : <Name>{node}</Name>,
            ],
          }))}
        />
      </Card>
    </>
  );
}
