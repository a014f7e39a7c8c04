"""The planner in the browser and its HTTP interface: open `application` for the service, `operations` for its answers.

Operations run in processes of their own (`workers`), which are ended when a request takes too long. Only `serving` and
`application` need the packages of the extra `web`, and they are imported when the service starts.
"""
