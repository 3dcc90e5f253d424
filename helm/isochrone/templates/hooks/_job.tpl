{{/* Metadata of an object that is there for a hook only. Takes {root, component, name, hooks, weight,
     isGlobal}. */}}
{{- define "isochrone.hookMetadata" -}}
name: {{ .name }}
{{- if not .isGlobal }}
namespace: {{ .root.Release.Namespace }}
{{- end }}
labels:
  {{- include "isochrone.labels" . | nindent 2 }}
annotations:
  helm.sh/hook: {{ .hooks }}
  helm.sh/hook-weight: {{ .weight | quote }}
  # A Job that failed stays, to be looked at.
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* A Job that runs one command of `isochrone`. Takes {root, component, name, hooks, account, args,
     configMap}. */}}
{{- define "isochrone.hookJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "isochrone.hookMetadata" (merge (dict "weight" 0) .) | nindent 2 }}
spec:
  backoffLimit: 3
  activeDeadlineSeconds: 300
  template:
    metadata:
      labels:
        {{- include "isochrone.labels" . | nindent 8 }}
        # A proxy beside it would keep the Job from ending.
        sidecar.istio.io/inject: "false"
        istio.io/dataplane-mode: none
      annotations:
        sidecar.istio.io/inject: "false"
    spec:
      restartPolicy: Never
      serviceAccountName: {{ .account }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      {{- include "isochrone.pullSecrets" .root | nindent 6 }}
      nodeSelector:
        kubernetes.io/os: linux
      tolerations:
        - operator: Exists
      securityContext:
        {{- include "isochrone.podSecurity" .root | nindent 8 }}
      containers:
        - name: isochrone
          image: {{ include "isochrone.image" (dict "root" .root "component" "cli") }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: {{ toJson .args }}
          securityContext:
            {{- include "isochrone.containerSecurity" .root | nindent 12 }}
          resources:
            requests: {cpu: 50m, memory: 128Mi}
            limits: {memory: 512Mi}
          {{- with .configMap }}
          volumeMounts:
            - {name: files, mountPath: /files, readOnly: true}
          {{- end }}
      {{- with .configMap }}
      volumes:
        - name: files
          configMap: {name: {{ . }}}
      {{- end }}
{{- end }}
