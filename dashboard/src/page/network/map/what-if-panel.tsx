import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { milliseconds, plural } from "../../model/format.ts";
import type { PodMove } from "../../model/request-time.ts";
import { changeInWords, type Prediction } from "./what-if.ts";

interface PanelProps {
  readonly workflow: WorkflowGraphSnapshot;
  readonly nodes: readonly string[];
  readonly moves: readonly PodMove[];
  /** Of the moves, and of the pod that is being dragged. */
  readonly prediction: Prediction | null;
  readonly onMove: (move: PodMove) => void;
  readonly onReset: () => void;
}

/** What a request would take if pods were elsewhere; the choice below does what dragging does, by keys. */
export function WhatIfPanel({ workflow, nodes, moves, prediction, onMove, onReset }: PanelProps): VNode {
  const pods = workflow.workloads.flatMap((workload) => workload.pods).map(({ name }) => name);
  const [pod, setPod] = useState("");
  const [node, setNode] = useState("");
  const chosenPod = pods.includes(pod) ? pod : (pods[0] ?? "");
  const chosenNode = nodes.includes(node) ? node : (nodes[0] ?? "");
  return (
    <div class="what-if">
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          onMove({ pod: chosenPod, node: chosenNode });
        }}
      >
        <label>
          What if
          <select
            id="what-if-pod"
            value={chosenPod}
            onChange={({ currentTarget }) => setPod(currentTarget.value)}
          >
            {pods.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          were on
          <select
            id="what-if-node"
            value={chosenNode}
            onChange={({ currentTarget }) => setNode(currentTarget.value)}
          >
            {nodes.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button type="submit">Show</button>
        {moves.length === 0 ? null : (
          <button type="button" onClick={onReset}>
            As today
          </button>
        )}
      </form>
      <p role="status" id="what-if">
        {sentence(prediction, moves.length)}
      </p>
    </div>
  );
}

function sentence(prediction: Prediction | null, moves: number): string {
  if (prediction === null) return "Network time per request isn't known: nobody counts the requests.";
  const { today, moved, p95Ms } = prediction;
  const total = (ms: number): string => (ms === Number.POSITIVE_INFINITY ? "unreachable" : milliseconds(ms));
  const now = `Network time per request ${total(today.totalMs)}, its slowest chain of calls ${total(today.chainMs)}`;
  if (moves === 0 && moved.totalMs === today.totalMs && moved.chainMs === today.chainMs)
    return `${now}. Drag a pod to another node to see what that would change; nothing is moved by it.`;
  const parts = [
    `${total(today.totalMs)} → ${total(moved.totalMs)} network time per request (${changeInWords(today.totalMs, moved.totalMs)})`,
    `${total(today.chainMs)} → ${total(moved.chainMs)} on the slowest chain of calls`,
  ];
  if (p95Ms !== null)
    parts.push(
      `p95 end to end ${milliseconds(p95Ms.today)} → about ${milliseconds(p95Ms.moved)} (measured, and the difference of that chain)`,
    );
  return `With ${plural(moves, "pod")} elsewhere: ${parts.join("; ")}. Nothing is moved.`;
}
