// Axes: named lists of values whose combinations are the points.
import { isScalar } from "yaml";
import type { Node } from "yaml";
import type { AxisNodes, Field } from "./field.ts";
import type { Labels } from "./model.ts";

export interface AxisPoint {
  readonly labels: Labels;
  readonly nodes: AxisNodes;
  /** `rttMs=100,users=300`; `all` without axes. */
  readonly id: string;
}

interface AxisValue {
  readonly label: number | string;
  readonly node: Node;
}

/** A larger number is a mistake in the file, or takes a month. */
const MAX_POINTS = 2000;

/** Returns every combination; the last axis changes fastest. */
export function axisPoints(axes: Field): readonly AxisPoint[] {
  let points: AxisPoint[] = [{ labels: {}, nodes: new Map(), id: "" }];
  for (const name of axes.keys()) {
    const field = axes.get(name);
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name)) field.fail("must be named like rttMs: letters and digits");
    points = points.flatMap((point) =>
      valuesOf(field).map(({ label, node }) => ({
        labels: { ...point.labels, [name]: label },
        nodes: new Map([...point.nodes, [name, node]]),
        id: point.id === "" ? `${name}=${label}` : `${point.id},${name}=${label}`,
      })),
    );
    if (points.length > MAX_POINTS) {
      axes.fail(`must multiply into at most ${MAX_POINTS} points, got ${points.length} or more`);
      return [];
    }
  }
  return points.length === 1 && points[0]!.id === "" ? [{ ...points[0]!, id: "all" }] : points;
}

export function hasLabels(point: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => String(point[name]) === String(value));
}

/** A list of numbers or texts, or a mapping from labels to values. */
function valuesOf(field: Field): readonly AxisValue[] {
  const values = field.isList ? listed(field) : named(field);
  if (values.length === 0) field.fail("must have at least one value, got none");
  const labels = values.map(({ label }) => label);
  const twice = labels.find((label, index) => labels.indexOf(label) !== index);
  if (twice !== undefined) field.fail(`must have each value once, got ${twice} twice`);
  return values;
}

function listed(field: Field): readonly AxisValue[] {
  return field.list().flatMap((item) => {
    const value = isScalar(item.node) ? item.node.value : null;
    if (typeof value === "number" || typeof value === "string") {
      const large = field.baseValue(String(value));
      return [{ label: value, node: large ?? item.node! }];
    }
    item.fail("must be a number or a text; larger values are a mapping from label to value");
    return [];
  });
}

function named(field: Field): readonly AxisValue[] {
  return field.keys().flatMap((label) => {
    const { node } = field.get(label);
    return node === null ? [] : [{ label, node }];
  });
}
