import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { shortNames } from "../../model/names.ts";
import { labelBeside, labelsOf, type Box } from "./map-labels.ts";
import type { Spot } from "./pod-layer.tsx";
import { textWidth } from "./text-width.ts";

interface Size {
  readonly width: number;
  readonly height: number;
}

export function MapNames(props: {
  readonly spots: readonly Spot[];
  readonly size: Size;
  readonly reserved?: readonly Box[];
}): VNode {
  const { spots, size, reserved } = props;
  const short = shortNames(
    spots.map(({ name }) => name),
    24,
  );
  const dots = spots.map((spot) => ({ ...spot, text: short.get(spot.name)! }));
  return (
    <g class="names">
      {labelsOf(dots, size, textWidth, reserved).map(({ text, x, y, line }) => (
        <g key={text}>
          {line === null ? null : <path class="leader" d={line} />}
          <text class="label" x={x} y={y}>
            {text}
          </text>
        </g>
      ))}
      <PointedName spots={spots} size={size} />
    </g>
  );
}

function PointedName({ spots, size }: { readonly spots: readonly Spot[]; readonly size: Size }): VNode {
  const layer = useRef<SVGGElement>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  useEffect(() => {
    const holder = layer.current!.closest(".map")!;
    const aborted = new AbortController();
    const { signal } = aborted;
    const point = ({ target }: Event): void => setPointed(target instanceof Element ? nameAt(target) : null);
    for (const type of ["pointerover", "focusin"]) holder.addEventListener(type, point, { signal });
    for (const type of ["pointerleave", "focusout"])
      holder.addEventListener(type, () => setPointed(null), { signal });
    return () => aborted.abort();
  }, []);
  const dot = useMemo(
    () => (pointed === null ? null : dotOf(pointed, spots, layer.current)),
    [pointed, spots],
  );
  if (dot === null) return <g ref={layer} />;
  const wide = textWidth(dot.text);
  const { x, y } = labelBeside(dot, wide, size);
  return (
    <g ref={layer} class="pointed">
      <rect x={x - 3} y={y - 14} width={wide + 6} height={19} rx={4} />
      <text class="label" x={x} y={y}>
        {dot.text}
      </text>
    </g>
  );
}

const nameAt = (element: Element): string | null => {
  const named = element.closest("[data-node], [data-pod]");
  return named?.getAttribute("data-pod") ?? named?.getAttribute("data-node") ?? null;
};

function dotOf(name: string, spots: readonly Spot[], layer: SVGGElement | null) {
  const spot = spots.find((each) => each.name === name);
  if (spot !== undefined) return { ...spot, text: name };
  const pod = layer?.ownerSVGElement?.querySelector(`.pod[data-pod="${CSS.escape(name)}"]`);
  if (pod === null || pod === undefined) return null;
  const [x, y] = [Number(pod.getAttribute("data-x")), Number(pod.getAttribute("data-y"))];
  return { x, y, radius: 8, text: pod.getAttribute("data-says") ?? name };
}
