import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { age, bytesPerSecond, count, figure, percent, plural } from "../model/format.ts";
import type { Plan, Proposal } from "../model/plan.ts";
import { Card, Empty, Name, Table, Tile } from "../parts/common.tsx";
import { moment, nowMs } from "../state/store.ts";
import { onTheWay, totalCost, type ChannelCost } from "../model/costs.ts";

/** Bytes that are on the wire at any time, which is what traffic times round-trip time comes to. */
export const sum = (cost: number): string => bytesPerSecond(onTheWay(cost)).replace("B/s", "B");

interface CostsProps {
  readonly workflow: WorkflowGraphSnapshot;
  readonly costs: readonly ChannelCost[];
  /** The newest plan that was carried out. */
  readonly plan: Plan | null;
  /** What would be best now. */
  readonly proposal: Proposal | null;
  /** Why there are no plans. */
  readonly fault: string | null;
}

/** What the workflow is, what its traffic costs today, and what it could. */
export function Costs({ workflow, costs, plan, proposal, fault }: CostsProps): VNode {
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
        <PlanTile plan={plan} today={total} fault={fault} />
      ) : (
        <ProposalTile proposal={proposal} pods={pods} />
      )}
    </dl>
  );
}

/** A gain that is worth looking at, and one that is none. */
const WORTH = 0.1;
const NOTHING = 0.005;

function gainInWords(gain: number | null): string {
  if (gain === null || Math.abs(gain) < NOTHING) return "as today";
  return gain > 0 ? `${percent(gain)} less than today` : `${percent(-gain)} more than today`;
}

const stateOf = (gain: number | null): { readonly state?: "warn" } =>
  gain !== null && gain > WORTH ? { state: "warn" } : {};

function ProposalTile({ proposal, pods }: { readonly proposal: Proposal; readonly pods: number }): VNode {
  const { cost, today } = proposal;
  // The planner's own figure, which its words and the command line have too.
  const { savedRatio: gain = today.network === 0 ? null : 1 - cost.network / today.network } = proposal;
  const moves =
    proposal.pods.length === 0
      ? "all pods stay"
      : `${count(proposal.pods.length)} of ${plural(pods, "pod")} elsewhere`;
  return (
    <Tile
      label="Best plan"
      value={sum(cost.network)}
      note={`${gainInWords(gain)}, ${moves}`}
      {...stateOf(gain)}
    />
  );
}

function PlanTile(props: {
  readonly plan: Plan | null;
  readonly today: number;
  readonly fault: string | null;
}): VNode {
  const { plan, today, fault } = props;
  if (plan === null || plan.cost === null) {
    const none = moment.value === "" ? "the planner has planned nothing for it" : "is of now only";
    return (
      <Tile
        label="Best plan"
        value="none"
        note={fault === null ? none : `no plans: ${fault.replace(/^no graphs: /, "")}`}
      />
    );
  }
  const gain = today === 0 ? null : 1 - plan.cost.network / today;
  const old = age((nowMs.value - Date.parse(plan.at)) / 1000);
  return (
    <Tile
      label="Best plan"
      value={sum(plan.cost.network)}
      note={`${gainInWords(gain)}, ${old} old`}
      {...stateOf(gain)}
    />
  );
}

/** Who would be elsewhere in the best plan. */
export function Moves({ proposal }: { readonly proposal: Proposal }): VNode {
  return (
    <Card title="Best plan against today" id="moves">
      <p class="soft">{proposal.explanation.join(" ")} This is a proposal: nothing is moved by it.</p>
      {proposal.pods.length === 0 ? (
        <Empty title="Every pod is where the best plan has it" />
      ) : (
        <Table
          id="moves"
          label="pods that would move"
          columns={[
            { title: "Pod", isText: true },
            { title: "Workload", isText: true },
            { title: "Today on", isText: true },
            { title: "Better on", isText: true },
            { title: "Saves" },
            { title: "In the way", isText: true },
          ]}
          rows={proposal.pods.map(({ name, workload, from, node, gain, obstacle }) => ({
            key: name,
            cells: [
              <Name>{name}</Name>,
              <Name>{workload ?? "–"}</Name>,
              <Name>{from}</Name>,
              <Name>{node ?? "–"}</Name>,
              gain === undefined ? "–" : sum(gain),
              (obstacle ?? null) === null ? (
                <span class="soft">nothing</span>
              ) : (
                <span class="because">{obstacle}</span>
              ),
            ],
          }))}
        />
      )}
    </Card>
  );
}
