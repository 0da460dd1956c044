"""The deployments by their names."""

from flows.deployments import DEPLOYMENTS, Deployment


def deployment_named(name: str) -> Deployment:
    """Return the deployment of a name."""
    return {deployment.name: deployment for deployment in DEPLOYMENTS}[name]
