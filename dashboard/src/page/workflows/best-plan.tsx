import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { age, bytesPerSecond, count, figure, milliseconds, plural } from "../model/format.ts";
import { movesNow, type Plan, type Proposal } from "../model/plan.ts";
import { Card, Empty, Name, Table, Tile } from "../parts/common.tsx";
import { moment, nowMs } from "../state/store.ts";
import { onTheWay, totalCost, type ChannelCost } from "../model/costs.ts";

export const sum = (cost: number): string => bytesPerSecond(onTheWay(cost)).replace("B/s", "B");

interface CostsProps {
  readonly workflow: WorkflowGraphSnapshot;
  readonly costs: readonly ChannelCost[];
  readonly plan: Plan | null;
  readonly proposal: Proposal | null;
  readonly why: string;
}

export function Costs({ workflow, costs, plan, proposal, why }: CostsProps): VNode {
  const { total, unknown } = totalCost(costs);
  const pods = workflow.workloads.reduce((number, workload) => number + workload.pods.length, 0);
  const rate = workflow.channels.reduce((all, channel) => all + (channel.requestsPerSecond ?? 0), 0);
  return (
    <dl class="tiles">
      <Tile
        label="Workloads"
        value={count(workflow.workloads.length)}
        note={`${count(pods)} pods, ${count(workflow.channels.length)} channels`}
      />
      <Tile label="Requests" value={`${figure(rate)}/s`} note="over all channels" />
      <Tile
        label="Network cost today"
        value={sum(total)}
        note={`bytes under way at any time${unknown === 0 ? "" : `; ${unknown} channels unknown`}`}
      />
      {proposal === null ? (
        <PlanTile plan={plan} why={why} />
      ) : (
        <ProposalTile proposal={proposal} pods={pods} />
      )}
    </dl>
  );
}

const WORTH = 0.1;

function ProposalTile({ proposal, pods }: { readonly proposal: Proposal; readonly pods: number }): VNode {
  const { cost, savedRatio, perRequest } = proposal;
  const now = movesNow(proposal).length;
  const later = proposal.pods.length - now;
  const blocked = later === 0 ? "" : `; ${plural(later, "move")} can't be made now`;
  const saved =
    now === 0 || perRequest === null
      ? "as today"
      : `${milliseconds(perRequest.todayMs)} → ${milliseconds(perRequest.bestMs)} per request (± ${milliseconds(perRequest.errorMs)})`;
  const moves = now === 0 ? "" : `, ${count(now)} of ${plural(pods, "pod")} elsewhere`;
  return (
    <Tile
      label="Best plan"
      value={sum(cost.network)}
      note={`${saved}${moves}${blocked}`}
      {...((savedRatio ?? 0) > WORTH ? { state: "warn" as const } : {})}
    />
  );
}

function PlanTile({ plan, why }: { readonly plan: Plan | null; readonly why: string }): VNode {
  if (plan === null || plan.cost === null)
    return <Tile label="Best plan" value="none" note={moment.value === "" ? why : "is of now only"} />;
  const old = age((nowMs.value - Date.parse(plan.at)) / 1000);
  // Traffic differed then, so the cost is not comparable.
  return <Tile label="Newest plan" value={sum(plan.cost.network)} note={`when it was made, ${old} ago`} />;
}

function commandOf({ workflow }: Proposal): string {
  const [namespace = "", name = ""] = workflow.split("/");
  return `isochrone plan ${namespace} --workflow ${name} --apply`;
}

export function Moves({ proposal }: { readonly proposal: Proposal }): VNode {
  return (
    <Card title="Best plan against today" id="moves">
      <p class="soft">
        {proposal.explanation.join(" ")} This is a proposal: nothing is moved by it.
        {movesNow(proposal).length === 0 ? null : (
          <>
            {" "}
            <code>{commandOf(proposal)}</code> carries it out.
          </>
        )}
      </p>
      {proposal.pods.length === 0 ? (
        <Empty title="Every pod is where the best plan has it" />
      ) : (
        <Table
          id="moves"
          label="pods that would move"
          columns={[
            { title: "Step" },
            { title: "Pod", isText: true },
            { title: "Workload", isText: true },
            { title: "Today on", isText: true },
            { title: "Better on", isText: true },
            { title: "Step saves" },
            { title: "In the way", isText: true },
          ]}
          rows={proposal.pods.map(({ name, workload, from, node, step, gain, gainError, obstacle }) => ({
            key: name,
            cells: [
              count(step),
              <Name>{name}</Name>,
              <Name>{workload ?? "–"}</Name>,
              <Name>{from}</Name>,
              <Name>{node ?? "–"}</Name>,
              `${sum(gain)} ± ${sum(gainError)}`,
              obstacle === null ? <span class="soft">nothing</span> : <span class="because">{obstacle}</span>,
            ],
          }))}
        />
      )}
    </Card>
  );
}
