def render(results):
    return ""
