import type UPlot from "uplot";
import type { Theme } from "../model/scale.ts";

export interface PlotMark {
  readonly at: number;
  readonly kind: "move" | "fault" | "heal";
}

/** Signs, so that colour is not the only difference. */
const SIGNS = { move: "▲", fault: "✕", heal: "✓" } as const;
export const signOf = (kind: PlotMark["kind"]): string => SIGNS[kind];
const COLOURS = {
  light: { move: "#5b4bb0", fault: "#a11d2d", heal: "#1b6338" },
  dark: { move: "#b9aef5", fault: "#ffa3a8", heal: "#8fd8a8" },
} as const;

export function drawMarks(plot: UPlot, marks: readonly PlotMark[], theme: Theme): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.lineWidth = ratio;
  ctx.font = `${11 * ratio}px system-ui`;
  ctx.textAlign = "center";
  for (const { at, kind } of marks) {
    const x = Math.round(plot.valToPos(at, "x", true));
    if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue;
    ctx.strokeStyle = COLOURS[theme][kind];
    ctx.fillStyle = COLOURS[theme][kind];
    ctx.setLineDash(kind === "fault" ? [] : [3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(SIGNS[kind], x, bbox.top - 2 * ratio);
  }
  ctx.restore();
}
